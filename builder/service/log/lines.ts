// Splits command output into lines: takes byte chunks of any size, and returns texts that are safe for a database and a
// terminal; of the terminal sequences, only colors are kept. Pure. An unfinished line is returned when the stream ends,
// never after a timeout, since it may contain half a secret.
import { stripVTControlCharacters } from 'node:util';

/** The splitter of one output stream. */
export interface LineReader {
  /** @returns the lines completed by the chunk. */
  push(chunk: Uint8Array): string[];
  /** @returns the unfinished last line. */
  end(): string[];
}

/** Extra characters for color sequences, which do not count as text. */
const CONTROL_CHARS = 4096;
const CUT = ' ... (line cut)';

/**
 * @param charsMax maximum length of a line; the rest is dropped. @param keepsMore the number of characters that are
 * read beyond `charsMax` before `finish` runs, so that a secret across the cut is recognized.
 * @param finish applied to a complete line before it is cut: masking.
 */
export function createLineReader(charsMax: number, keepsMore: number, finish: (text: string) => string): LineReader {
  const decoder = new TextDecoder();
  const heldMax = charsMax + keepsMore + CONTROL_CHARS;
  let held = '';
  let isCut = false;

  function take(lines: string[]): void {
    lines.push(tidy(held));
    held = '';
    isCut = false;
  }

  function tidy(line: string): string {
    // Only the final text of a progress line that overwrites itself with carriage returns is kept.
    const shown = line.replace(/\r+$/, '');
    const written = shown.slice(shown.lastIndexOf('\r') + 1);
    const plain = plainText(written);
    const text = finish(plain);
    const cut = isCut || text.length > charsMax ? text.slice(0, charsMax).toWellFormed() : text;
    // Masking changes offsets, and a secret may have contained colors, so the line is kept without colors.
    const kept = text === plain ? coloured(written, plain, cut) : cut;
    return cut === text && !isCut ? kept : kept + CUT;
  }

  function add(text: string): void {
    if (isCut) {
      const again = text.lastIndexOf('\r');
      if (again === -1) return;
      // A carriage return starts the line again.
      held = '';
      isCut = false;
      return add(text.slice(again + 1));
    }
    held += text;
    if (held.length <= heldMax) return;
    const again = held.lastIndexOf('\r');
    if (again !== -1 && again < held.length - 1) held = held.slice(again + 1);
    if (held.length <= heldMax) return;
    held = held.slice(0, heldMax);
    isCut = true;
  }

  function read(text: string): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', from)) {
      add(text.slice(from, at));
      take(lines);
      from = at + 1;
    }
    if (from < text.length) add(text.slice(from));
    return lines;
  }

  return {
    push: (chunk) => read(decoder.decode(chunk, { stream: true })),
    end() {
      const lines = read(decoder.decode());
      if (held !== '') take(lines);
      return lines;
    },
  };
}

/** A color or font weight sequence. Tools do not produce longer sequences. */
// oxlint-disable-next-line no-control-regex -- the pattern begins with ESC
const COLOUR = /\u001b\[[\d;:]{0,32}m/g;
const RESET = '\u001b[0m';

/**
 * Keeps the colors of a line, limited in number and reset at its end; other terminal sequences are removed.
 *
 * @param plain the line without colors. @param cut the part of the line that is kept.
 */
function coloured(written: string, plain: string, cut: string): string {
  let kept = '';
  let keptChars = 0;
  let text = '';
  let from = 0;
  let colourChars = 0;
  let last = RESET;
  for (const { 0: colour, index } of written.matchAll(COLOUR)) {
    text += plainText(written.slice(from, index));
    from = index + colour.length;
    colourChars += colour.length;
    if (text.length >= cut.length || colourChars > CONTROL_CHARS) continue;
    kept += cut.slice(keptChars, text.length) + colour;
    keptChars = text.length;
    last = colour;
  }
  // A nested sequence: the line is kept without colors.
  if (text + plainText(written.slice(from)) !== plain) return cut;
  return kept + cut.slice(keptChars) + (last === RESET ? '' : RESET);
}

/** Applies {@link plainText} to each line. Postgres can store the result. */
export function plainLines(text: string): string {
  return text.split(/\r?\n/).map(plainText).join('\n').toWellFormed();
}

/** Removes colors, cursor movements and other control characters. */
function plainText(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/[^\P{Cc}\t]|[\u2028-\u202e\u2066-\u2069]/gu, '');
}
