// Keeps a proxied stream of server-sent events open: after a silence, inserts a comment between two events, so that
// proxies do not close the connection.
import { pipeline, Transform, type Readable } from 'node:stream';

const SILENCE_MS = 15_000;
const COMMENT = ': still here\n\n';
const LINE_END = 0x0a;

/** Copies the bytes of a stream, and inserts comments between events. Ending either stream ends the other. */
export function withoutSilence(events: Readable, silenceMs = SILENCE_MS): Readable {
  // Whether the last two bytes were line breaks.
  let isBetween = true;
  let last = 0;
  const kept = new Transform({
    transform(chunk: Uint8Array, _encoding, next) {
      timer.refresh();
      const before = chunk.byteLength > 1 ? chunk[chunk.byteLength - 2] : last;
      last = chunk[chunk.byteLength - 1] ?? last;
      isBetween = last === LINE_END && before === LINE_END;
      next(null, chunk);
    },
  });
  const timer = setInterval(() => {
    // No comment is added while the client has not read the last one.
    if (isBetween && kept.readableLength === 0 && !kept.readableEnded) kept.push(COMMENT);
  }, silenceMs);
  // Errors are ignored here, because the reader's stream fails with the same error.
  return pipeline(events, kept, () => clearInterval(timer));
}
