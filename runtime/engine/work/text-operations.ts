// Decoders of encodings whose tables the guest does not have, on a thread that keeps open decoders. Labels come from a
// worker; the decoder refuses unknown ones.
import { TextDecoder } from 'node:util';
import type { ThreadReply } from './threads.ts';

type Operation = (args: unknown, parts: readonly Uint8Array[]) => ThreadReply;

/** The open decoders, by numbers that the host allocates. */
const open = new Map<number, TextDecoder>();

export function createTextDecoder(args: unknown): TextDecoder {
  const { label, fatal } = (args ?? {}) as { label?: unknown; fatal?: unknown };
  if (typeof label !== 'string' || label.length > 40) throw new TypeError('The encoding label must be a short string');
  return new TextDecoder(label, { fatal: fatal === true, ignoreBOM: true });
}

export const textOperations: Readonly<Record<string, Operation>> = {
  /**
   * Takes `{id, isNew, label, fatal, isLast}` and bytes; returns the text in UTF-8. The decoder stays open unless the
   * piece is the last one, or malformed.
   */
  'text.decode': (args, [bytes]) => {
    const { id, isNew, isLast } = args as { id: number; isNew: boolean; isLast: boolean };
    const decoder = isNew ? createTextDecoder(args) : open.get(id);
    if (decoder === undefined) throw new TypeError('The decoder is not open');
    open.delete(id);
    const text = Buffer.from(decoder.decode(bytes, { stream: !isLast }));
    if (!isLast) open.set(id, decoder);
    return { parts: [text] };
  },
  'text.close': (args) => {
    open.delete((args as { id: number }).id);
    return {};
  },
};
