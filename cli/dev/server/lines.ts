// The output of a dev server as lines for our terminal, and what they say of its port. dev-server.ts reads with it.
import type { Readable } from 'node:stream';

/** A line that is longer comes in parts. */
const LINE_CHARS_MAX = 100_000;
/** What would take the other program's lines away: whole screens cleared, the cursor sent home. */
// oxlint-disable-next-line no-control-regex
const CLEARS = /\u001bc|\u001b\[[0-3]?J|\u001b\[(?:1;1)?H/g;
// oxlint-disable-next-line no-control-regex
const STYLES = /\u001b\[[0-9;]*m/g;

/** Calls back with each line of a stream; the returned function gives what is left, and stops. */
export function toLines(stream: Readable, take: (line: string) => void): () => void {
  let rest = '';
  const give = (line: string): void => take(line.replace(/\r$/, '').replaceAll(CLEARS, ''));
  stream.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) give(line);
    if (rest.length <= LINE_CHARS_MAX) return;
    give(rest);
    rest = '';
  });
  return () => {
    stream.removeAllListeners('data');
    stream.destroy();
    if (rest !== '') give(rest);
    rest = '';
  };
}

/**
 * The port of this machine that a line names; null: none.
 *
 * @example portIn('➜  Local: http://localhost:5173/') // 5173
 */
export function portIn(line: string): number | null {
  const plain = line.replaceAll(STYLES, '');
  const [, port] =
    /\bhttps?:\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):(\d{2,5})\b/.exec(plain) ??
    /\bport:? (\d{2,5})\b/i.exec(plain) ??
    [];
  return port === undefined ? null : Number(port);
}
