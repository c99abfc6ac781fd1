// Converts chunks of a chat-completions stream to AI SDK stream parts, with a start and an end for each text, reasoning
// and tool call.
import { isJson, isList, type Json } from '../../contract/chat.ts';
import {
  blockMetadata,
  finishReason,
  imageParts,
  inputOf,
  reasoningText,
  sdkUsage,
  signatureMetadata,
} from './result.ts';
import { sdkStreamError } from './sdk-errors.ts';
import { wireWarning, type SpecVersion, type Warning } from './sdk-call.ts';

interface Deps {
  readonly version: SpecVersion;
  /** `provider/model` that answers. */
  readonly model: string;
  readonly warnings: readonly Warning[];
  /** Whether the raw chunks are requested too. */
  readonly showsRaw: boolean;
  /** Metadata of the last part. */
  readonly metadata: Json;
}

interface Call {
  readonly id: unknown;
  readonly name: unknown;
  input: string;
  metadata: Json;
}

type Block = 'text' | 'reasoning';

/** Creates the converter of one stream. */
export interface PartReader {
  /** Emitted first. */
  start(): Json[];
  take(chunk: Json): Json[];
  /** @param error the error that ended the stream; null if the stream completed. */
  end(error: Json | null): Json[];
}

export function createPartReader({ version, model, warnings, showsRaw, metadata }: Deps): PartReader {
  const calls = new Map<unknown, Call>();
  let open: { readonly block: Block; readonly id: string } | null = null;
  let blocks = 0;
  let isTold = false;
  let raw = 'stop';
  let usage: unknown = null;

  const close = (more: Json = {}): Json[] => {
    if (open === null) return [];
    const part = { type: `${open.block}-end`, id: open.id, ...more };
    open = null;
    return [part];
  };
  const say = (block: Block, delta: unknown): Json[] => {
    if (typeof delta !== 'string' || delta === '') return [];
    const parts: Json[] = [];
    if (open?.block !== block) {
      parts.push(...close());
      open = { block, id: String(blocks++) };
      parts.push({ type: `${block}-start`, id: open.id });
    }
    return [...parts, { type: `${block}-delta`, id: open.id, delta }];
  };
  /** The signature of the preceding reasoning, or encrypted reasoning. */
  const sign = (block: Json): Json[] => {
    if (open?.block === 'reasoning' && block['type'] === 'thinking') return close(blockMetadata(block));
    const id = String(blocks++);
    return [...close(), { type: 'reasoning-start', id }, { type: 'reasoning-end', id, ...blockMetadata(block) }];
  };
  const call = (delta: Json): Json[] => {
    const { index = 0, id, function: called } = delta;
    const { name, arguments: input } = isJson(called) ? called : {};
    const text = typeof input === 'string' ? input : '';
    const kept = calls.get(index);
    const parts: Json[] = [];
    if (kept === undefined) {
      calls.set(index, { id, name, input: text, metadata: signatureMetadata(delta) });
      parts.push(...close(), { type: 'tool-input-start', id, toolName: name });
    } else {
      kept.input += text;
      kept.metadata = { ...kept.metadata, ...signatureMetadata(delta) };
    }
    if (text !== '') parts.push({ type: 'tool-input-delta', id: (kept ?? { id }).id, delta: text });
    return parts;
  };
  const endCalls = (): Json[] => {
    const parts = [...calls.values()].flatMap(({ id, name, input, metadata: more }) => [
      { type: 'tool-input-end', id },
      { type: 'tool-call', toolCallId: id, toolName: name, input: inputOf(input), ...more },
    ]);
    calls.clear();
    return parts;
  };
  const head = ({ id, created }: Json): Json[] => {
    if (isTold) return [];
    isTold = true;
    const timestamp = typeof created === 'number' && created > 0 ? new Date(created * 1000).toISOString() : undefined;
    return [{ type: 'response-metadata', id, ...(timestamp === undefined ? {} : { timestamp }), modelId: model }];
  };

  return {
    start: () => [{ type: 'stream-start', warnings: warnings.map((warning) => wireWarning(warning, version)) }],
    take(chunk) {
      const parts: Json[] = showsRaw ? [{ type: 'raw', rawValue: chunk }] : [];
      parts.push(...head(chunk));
      usage = chunk['usage'] ?? usage;
      const choice = isList(chunk['choices']) ? chunk['choices'].find(isJson) : undefined;
      const delta = isJson(choice?.['delta']) ? choice['delta'] : {};
      parts.push(...say('reasoning', reasoningText(delta)));
      for (const block of isList(delta['thinking_blocks']) ? delta['thinking_blocks'] : [])
        if (isJson(block)) parts.push(...sign(block));
      parts.push(...say('text', delta['content']), ...say('text', delta['refusal']));
      const signature = signatureMetadata(delta);
      if ('providerMetadata' in signature && open?.block === 'text') parts.push(...close(signature));
      const images = imageParts(delta, version);
      if (images.length > 0) parts.push(...close(), ...images);
      for (const one of isList(delta['tool_calls']) ? delta['tool_calls'] : [])
        if (isJson(one)) parts.push(...call(one));
      if (typeof choice?.['finish_reason'] === 'string') {
        raw = choice['finish_reason'];
        parts.push(...close(), ...endCalls());
      }
      return parts;
    },
    end(error) {
      const parts = close();
      if (error !== null) parts.push({ type: 'error', error: sdkStreamError(error) });
      const reason = finishReason(error === null ? raw : null, version);
      const used = sdkUsage(usage, version);
      return [...parts, { type: 'finish', finishReason: reason, usage: used, providerMetadata: metadata }];
    },
  };
}
