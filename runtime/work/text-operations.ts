// Decoders of encodings whose tables the guest does not hold, on a thread that keeps those that are open. Labels come from a worker;
// the decoder refuses those it does not know.
import { TextDecoder } from 'node:util';
import type { ThreadReply } from './threads.ts';

type Operation = (args: unknown, parts: readonly Uint8Array[]) => ThreadReply;

const open = new Map<number, TextDecoder>();
let last = 0;

export function createTextDecoder(args: unknown): TextDecoder {
  const { label, fatal } = (args ?? {}) as { label?: unknown; fatal?: unknown };
  if (typeof label !== 'string' || label.length > 40) throw new TypeError('The encoding label must be a short string');
  return new TextDecoder(label, { fatal: fatal === true, ignoreBOM: true });
}

export const textOperations: Readonly<Record<string, Operation>> = {
  /** `{id, label, fatal, isLast}` and bytes -> `{id}`, 0 when it is closed, and the text in UTF-8; id 0 opens. */
  'text.decode': (args, [bytes]) => {
    const { id, isLast } = args as { id: number; isLast: boolean };
    const decoder = id === 0 ? createTextDecoder(args) : open.get(id);
    if (decoder === undefined) throw new TypeError('The decoder is not open');
    open.delete(id);
    const text = Buffer.from(decoder.decode(bytes, { stream: !isLast }));
    if (isLast) return { value: { id: 0 }, parts: [text] };
    const kept = id === 0 ? ++last : id;
    open.set(kept, decoder);
    return { value: { id: kept }, parts: [text] };
  },
  'text.close': (args) => {
    open.delete((args as { id: number }).id);
    return {};
  },
};
