// Which wire a provider of a kind speaks.
import { openaiWire } from './openai.ts';
import type { Wire } from './wire.ts';

export const wires: Readonly<Record<'openai' | 'mock', Wire>> = {
  openai: openaiWire,
  // It answers as OpenAI does.
  mock: openaiWire,
};
