// Server-sent events of somebody else on their way: after a silence a comment goes between two of them, so that proxies
// keep the connection.
import { pipeline, Transform, type Readable } from 'node:stream';

const SILENCE_MS = 15_000;
const COMMENT = ': still here\n\n';
const LINE_END = 0x0a;

/** The same bytes, with comments; never inside an event. Who ends one of both ends the other. */
export function withoutSilence(events: Readable, silenceMs = SILENCE_MS): Readable {
  // Whether the last two bytes were line ends.
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
    // Who has not taken the last one has no use for more.
    if (isBetween && kept.readableLength === 0 && !kept.readableEnded) kept.push(COMMENT);
  }, silenceMs);
  // What broke is known to the reader, whose stream ends with an error.
  return pipeline(events, kept, () => clearInterval(timer));
}
