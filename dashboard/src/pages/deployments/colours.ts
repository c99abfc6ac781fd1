// ANSI colours in a log line: splits it into the plain text and coloured ranges. Pure. The classes are in
// build-log.module.css; other escape sequences are dropped.

/** A styled range of a text. */
export interface Coloured {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  /** Class names: `fg1`, `bg4`, `bold`. */
  readonly looks: readonly string[];
}

/** Escape sequences and control characters; the API keeps only color sequences. */
// oxlint-disable-next-line no-control-regex -- the pattern finds escape sequences
const SEQUENCE = /\u001b\[([\d;:]*)m|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/** Maximum styled ranges per line. */
const PARTS_MAX = 500;

/** The current style. */
interface Look {
  fg: number | null;
  bg: number | null;
  readonly styles: Set<string>;
}

/** @example coloursOf('a \u001b[31mb') // { text: 'a b', colours: [{ from: 2, to: 3, looks: ['fg1'] }] } */
export function coloursOf(written: string): { readonly text: string; readonly colours: readonly Coloured[] } {
  const colours: Coloured[] = [];
  const look: Look = { fg: null, bg: null, styles: new Set() };
  let text = '';
  let from = 0;
  const take = (until: number): void => {
    const start = text.length;
    text += written.slice(from, until);
    const looks = looksOf(look);
    if (looks.length > 0 && text.length > start && colours.length < PARTS_MAX)
      colours.push({ from: start, to: text.length, looks });
  };
  for (const { 0: sequence, 1: codes, index } of written.matchAll(SEQUENCE)) {
    take(index);
    from = index + sequence.length;
    if (codes !== undefined) apply(look, codes.split(/[;:]/).map(Number));
  }
  take(written.length);
  return { text, colours };
}

function looksOf({ fg, bg, styles }: Look): string[] {
  return [...(fg === null ? [] : [`fg${fg}`]), ...(bg === null ? [] : [`bg${bg}`]), ...styles];
}

const styleNames: Readonly<Record<number, string>> = { 1: 'bold', 2: 'dim', 3: 'italic', 4: 'underline', 7: 'inverse' };

function apply(look: Look, codes: readonly number[]): void {
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at]!;
    const style = styleNames[code];
    if (style !== undefined) look.styles.add(style);
    else if (code === 0) {
      look.fg = look.bg = null;
      look.styles.clear();
    } else if (code === 22) for (const weight of ['bold', 'dim']) look.styles.delete(weight);
    else if (code >= 23 && code <= 27) look.styles.delete(styleNames[code - 20] ?? '');
    else if (code >= 30 && code <= 37) look.fg = code - 30;
    else if (code >= 90 && code <= 97) look.fg = code - 82;
    else if (code === 39) look.fg = null;
    else if (code >= 40 && code <= 47) look.bg = code - 40;
    else if (code >= 100 && code <= 107) look.bg = code - 100;
    else if (code === 49) look.bg = null;
    else if (code === 38 || code === 48) {
      const isIndexed = codes[at + 1] === 5;
      const found = isIndexed ? ofIndex(codes[at + 2] ?? 0) : nearest(codes.slice(at + 2, at + 5));
      if (code === 38) look.fg = found;
      else look.bg = found % 8;
      at += isIndexed ? 2 : 4;
    }
  }
}

/** Maps one of 256 colours to one of 16. */
function ofIndex(index: number): number {
  if (index < 16) return index;
  if (index >= 232) return index < 244 ? 8 : 7;
  const cube = index - 16;
  return nearest([Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map((value) => value * 51));
}

/** Maps an RGB colour to one of the eight of the theme. */
function nearest(rgb: readonly number[]): number {
  const most = Math.max(...rgb, 1);
  const [red = 0, green = 0, blue = 0] = rgb.map((value) => (value / most > 0.6 ? 1 : 0));
  const found = red + green * 2 + blue * 4;
  return most < 60 ? 8 : found;
}
