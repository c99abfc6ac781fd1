// The protocol of each kind of provider.
import type { ProviderKind } from '../contract/contract.ts';
import type { Wire } from '../contract/wire.ts';
import { anthropicWire } from './anthropic.ts';
import { googleWire } from './google.ts';
import { openaiWire } from './openai.ts';

export const wires: Readonly<Record<ProviderKind, Wire>> = {
  openai: openaiWire,
  anthropic: anthropicWire,
  google: googleWire,
  // The provider answers in OpenAI's format.
  mock: openaiWire,
};
