// Escapes each line before it is written to the terminal, since any line may contain untrusted text: names, messages,
// output of workers and builds. Control characters are escaped and line breaks prefixed, except the program's own,
// which have a random mark. Used by shell.ts.
import { randomBytes } from 'node:crypto';
import { CONTROL, plain } from './plain.ts';

const MARK = `\ufdd0${randomBytes(8).toString('hex')}`;
// oxlint-disable-next-line no-control-regex -- escape sequences begin with one
const COLOUR = /\u001b\[([\d;:]*)m/g;
const MARKED_COLOUR = new RegExp(`${MARK}\\[([\\d;:]*)m`, 'g');
const MARKED_LINE = `${MARK};`;

/** Prefix of each line after the first in untrusted text. */
const CONTINUED = '  | ';

/** Marks the colours of a text as the program's, so that {@link printed} keeps them. */
export function marked(text: string): string {
  return text.replace(COLOUR, (_, sequence: string) => `${MARK}[${sequence}m`);
}

/** Marks the line breaks of a text as the program's, so that {@link printed} keeps them. */
export function ownLines(text: string): string {
  return text.replaceAll(/\r?\n/g, MARKED_LINE);
}

/** Formats output of a build or a server: removes control characters, except colours on a terminal. */
export function coloured(text: string, isTerminal: boolean): string {
  return marked(plain(text, isTerminal));
}

/** Adds {@link CONTINUED} before each line of an untrusted text after the first line. */
export function continued(text: string): string {
  return text.replaceAll('\n', `\n${CONTINUED}`);
}

/**
 * Escapes control characters as JSON does, so that JSON stays equivalent.
 *
 * @example visible('a\u001b[2J') // 'a\\u001b[2J'
 */
function visible(text: string): string {
  return text.replace(CONTROL, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The escaped line. */
export function printed(line: string): string {
  return visible(continued(line.replaceAll('\r\n', '\n')))
    .replaceAll(MARKED_LINE, '\n')
    .replace(MARKED_COLOUR, '\u001b[$1m');
}

/** The bytes of a file, unchanged; on a terminal, a text with escaped control characters. */
export async function* shownParts(parts: AsyncIterable<Uint8Array>, isTerminal: boolean): AsyncGenerator<Uint8Array> {
  if (!isTerminal) return yield* parts;
  const decoder = new TextDecoder();
  /** A carriage return at the end of a chunk, which a line feed may follow. */
  let held = '';
  for await (const part of parts) {
    const text = held + decoder.decode(part, { stream: true });
    held = text.endsWith('\r') ? '\r' : '';
    yield Buffer.from(visible(text.slice(0, text.length - held.length).replaceAll('\r\n', '\n')));
  }
  yield Buffer.from(visible(held + decoder.decode()));
}
