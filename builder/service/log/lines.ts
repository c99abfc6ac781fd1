// Parts what a command writes into lines: bytes in chunks of any size come in, texts that a database and a terminal can
// take come out. Pure. A line without an end is given when the stream ends, never by time: a secret may be half there.
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
    const text = finish(plainText(shown.slice(shown.lastIndexOf('\r') + 1)));
    if (text.length <= charsMax && !isCut) return text;
    return text.slice(0, charsMax).toWellFormed() + CUT;
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

/** Without colours, cursor movements and other control characters: a log is shown in terminals of others. */
export function plainText(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/[^\P{Cc}\t]|[\u2028-\u202e\u2066-\u2069]/gu, '');
}
