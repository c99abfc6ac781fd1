// Parts what a command writes into lines: bytes in chunks of any size come in, texts that a database and a terminal
// can take come out: of what terminals obey, colours alone. Pure. A line without an end is given when the stream
// ends, never by time: a secret may be half there.
import { stripVTControlCharacters } from 'node:util';

/** One stream being parted. */
export interface LineReader {
  /** @returns the lines that ended in it. */
  push(chunk: Uint8Array): string[];
  /** @returns what was left without an end. */
  end(): string[];
}

/** Room for colours and the like, which do not count as text. */
const CONTROL_CHARS = 4096;
const CUT = ' ... (line cut)';

/**
 * @param charsMax of one line; the rest of it is dropped.
 * @param keepsMore so many characters behind `charsMax` are read before `finish` cuts, so that what begins before the
 *   cut can be recognized.
 * @param finish what is done to a whole line before it is cut: masking.
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
    // Progress that is written over itself: what a terminal shows in the end.
    const shown = line.replace(/\r+$/, '');
    const written = shown.slice(shown.lastIndexOf('\r') + 1);
    const plain = plainText(written);
    const text = finish(plain);
    const cut = isCut || text.length > charsMax ? text.slice(0, charsMax).toWellFormed() : text;
    // What was masked has other offsets, and a secret may have had colours inside of it.
    const kept = text === plain ? coloured(written, plain, cut) : cut;
    return cut === text && !isCut ? kept : kept + CUT;
  }

  function add(text: string): void {
    if (isCut) {
      const again = text.lastIndexOf('\r');
      if (again === -1) return;
      // Written over: begins anew.
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

/** The sequence that sets colours and weights, and nothing else. A longer one is of no tool. */
// oxlint-disable-next-line no-control-regex -- it is about one
const COLOUR = /\u001b\[[\d;:]{0,32}m/g;
const RESET = '\u001b[0m';

/**
 * What is kept of a line, with its colours: of all that a terminal obeys they alone pass, in bounded number, and end
 * with the line.
 *
 * @param plain the line without them.
 * @param cut what of it is kept.
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
  // A sequence inside of another one: the line is what it is without any.
  if (text + plainText(written.slice(from)) !== plain) return cut;
  return kept + cut.slice(keptChars) + (last === RESET ? '' : RESET);
}

/** {@link plainText} of each line. Postgres can store the result. */
export function plainLines(text: string): string {
  return text.split(/\r?\n/).map(plainText).join('\n').toWellFormed();
}

/** Without colours, cursor movements and other control characters. */
export function plainText(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/[^\P{Cc}\t]|[\u2028-\u202e\u2066-\u2069]/gu, '');
}
