// What goes out on the user's terminal, a line at a time. Text of others is among it everywhere: names, messages, what
// workers and builds print. So no control character passes but those that the program has put there itself, which bear
// a mark that nobody else knows, and a line of others begins where none of the program can. Used by shell.ts.
/* oxlint-disable no-control-regex -- control characters are what it is about */
import { randomBytes } from 'node:crypto';
import { plain } from './plain.ts';

const MARK = `\ufdd0${randomBytes(8).toString('hex')}`;
const COLOUR = /\u001b\[([\d;:]*)m/g;
const MARKED_COLOUR = new RegExp(`${MARK}\\[([\\d;:]*)m`, 'g');
const MARKED_LINE = `${MARK};`;
/** A terminal obeys them, or shows others in another order; separators of lines and paragraphs are breaks to some. */
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Begins each line but the first of a text of others. */
export const CONTINUED = '  | ';

/** Lets the colours of a text pass: for what the program has coloured itself, and for {@link coloured}. */
export function marked(text: string): string {
  return text.replace(COLOUR, (_, sequence: string) => `${MARK}[${sequence}m`);
}

/** Lets the lines of a text begin as those of the program do. */
export function ownLines(text: string): string {
  return text.replaceAll('\n', MARKED_LINE);
}

/** What a build or a server prints: on a terminal with its colours, and with nothing else that a terminal obeys. */
export function coloured(text: string, isTerminal: boolean): string {
  return marked(plain(text, isTerminal));
}

/** A text of others, whose lines but the first are told apart from those of the program. */
export function continued(text: string): string {
  return text.replaceAll('\n', `\n${CONTINUED}`);
}

/**
 * Control characters as JSON writes them: in JSON that is the same text, elsewhere it can be seen.
 *
 * @example visible('a\u001b[2J') // 'a\\u001b[2J'
 */
export function visible(text: string): string {
  return text.replace(CONTROL, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** A line as it goes out. */
export function printed(line: string): string {
  return visible(continued(line.replaceAll('\r\n', '\n')))
    .replaceAll(MARKED_LINE, '\n')
    .replace(MARKED_COLOUR, '\u001b[$1m');
}

/** A file as it is; on a terminal, as text in which control characters can be seen. */
export async function* shownParts(parts: AsyncIterable<Uint8Array>, isTerminal: boolean): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder();
  for await (const part of parts)
    yield isTerminal ? Buffer.from(visible(decoder.decode(part, { stream: true }).replaceAll('\r\n', '\n'))) : part;
}
