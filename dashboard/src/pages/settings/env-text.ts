// Parses a pasted .env file into variables and invalid lines. Pure.

/** Result of parsing. */
interface EnvText {
  readonly variables: readonly { readonly key: string; readonly value: string }[];
  /** Invalid lines, numbered from 1. */
  readonly problems: readonly { readonly line: number; readonly reason: string }[];
}

const ASSIGNMENT = /^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*/;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\' };

/**
 * Values may be quoted and then span lines; in double quotes `\n` is a line break. If a name occurs twice, the last
 * value wins.
 *
 * @example readEnvText('A=1 # one\nB="x y"').variables // [{ key: 'A', value: '1' }, { key: 'B', value: 'x y' }]
 */
export function readEnvText(text: string): EnvText {
  const found = new Map<string, string>();
  const problems: { line: number; reason: string }[] = [];
  const source = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  let at = 0;
  let line = 1;
  while (at < source.length) {
    const end = endOfLine(source, at);
    const whole = source.slice(at, end);
    const assignment = ASSIGNMENT.exec(whole);
    if (assignment === null) {
      if (whole.trim() !== '' && !whole.trim().startsWith('#')) problems.push({ line, reason: 'not NAME=value' });
      at = end + 1;
      line++;
      continue;
    }
    const [matched, key = ''] = assignment;
    const begin = at + matched.length;
    const quote = source[begin];
    if (begin < end && (quote === '"' || quote === "'" || quote === '`')) {
      const close = closing(source, begin);
      if (close < 0) {
        problems.push({ line, reason: `${key}: missing closing quote` });
        break;
      }
      const inside = source.slice(begin + 1, close);
      found.set(key, quote === '"' ? inside.replace(/\\([nrt"\\])/g, (_, letter: string) => ESCAPES[letter]!) : inside);
      const next = endOfLine(source, close);
      line += source.slice(at, next).split('\n').length;
      at = next + 1;
      continue;
    }
    const value = source.slice(begin, end);
    found.set(key, value.replace(/(?:^|\s)#.*$/, '').trim());
    at = end + 1;
    line++;
  }
  return { variables: [...found].map(([key, value]) => ({ key, value })), problems };
}

function endOfLine(source: string, from: number): number {
  const end = source.indexOf('\n', from);
  return end < 0 ? source.length : end;
}

/** Index of the closing quote; -1 if missing. */
function closing(source: string, open: number): number {
  const quote = source[open];
  for (let at = open + 1; at < source.length; at++) {
    if (quote === '"' && source[at] === '\\') at++;
    else if (source[at] === quote) return at;
  }
  return -1;
}
