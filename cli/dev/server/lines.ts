// Splits the output of a dev server into lines for the terminal, and finds its port in them. Used by dev-server.ts.
import type { Readable } from 'node:stream';

/** Longer lines are split. */
const LINE_CHARS_MAX = 100_000;
/** Sequences that clear the screen or move the cursor home, which would remove other output. */
// oxlint-disable-next-line no-control-regex
const CLEARS = /\u001bc|\u001b\[[0-3]?J|\u001b\[(?:1;1)?H/g;
// oxlint-disable-next-line no-control-regex
const STYLES = /\u001b\[[0-9;]*m/g;

/** Calls back with each line of a stream; the returned function flushes the rest and stops. */
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
 * The local port named in a line, or null.
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
