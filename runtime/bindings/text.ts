// The host half of TextDecoder: the encodings whose tables the guest does not hold, through Node's decoder. Labels come
// from a worker; the decoder refuses those it does not know.
import { TextDecoder } from 'node:util';
import type { SyncHostHandler } from '../bridge/host-calls.ts';

interface LegacyDecoder {
  readonly decoder: TextDecoder;
}

function open(args: unknown): TextDecoder {
  const { label, fatal } = (args ?? {}) as { label?: unknown; fatal?: unknown };
  if (typeof label !== 'string' || label.length > 40) throw new TypeError('The encoding label must be a short string');
  return new TextDecoder(label, { fatal: fatal === true, ignoreBOM: true });
}

function bytesOf(part: unknown): Uint8Array {
  if (!(part instanceof Uint8Array)) throw new TypeError('There are no bytes to decode');
  return part;
}

/** Synchronous calls `text.*`. */
export const textCalls: Readonly<Record<string, SyncHostHandler>> = {
  'text.decode': (args, part) => open(args).decode(bytesOf(part)),
  'text.open': (args, _part, isolate) => isolate.handles.add({ decoder: open(args) } satisfies LegacyDecoder),
  'text.decodeChunk': (args, part, isolate) => {
    const { handle, last } = (args ?? {}) as { handle?: unknown; last?: unknown };
    const { decoder } = (isolate.handles.get(handle) ?? {}) as Partial<LegacyDecoder>;
    if (!(decoder instanceof TextDecoder)) throw new TypeError('The decoder is not open');
    try {
      const text = decoder.decode(bytesOf(part), { stream: last !== true });
      if (last === true) isolate.handles.delete(handle);
      return text;
    } catch (error) {
      isolate.handles.delete(handle);
      throw error;
    }
  },
};
