// Masks secrets in lines of a build log: their values, and common encodings of them. Pure. Deliberate obfuscation by a
// build (reversing a secret, for example) is not detected: the secrets belong to its own project.

/** Replaces a secret. */
const MASK = '***';

/** Finds secrets in texts. */
export interface Masks {
  /** Replaces each secret in a text; overlapping secrets are replaced together. */
  apply(text: string): string;
  /** Length of the longest form: text must only be cut with this many characters beyond the cut. */
  readonly charsMax: number;
}

/** Shorter secrets are only replaced as whole words; otherwise, a secret of one letter would mask everything. */
const CHARS_MIN = 4;
/** Line lengths of `base64` and `openssl`. */
const WRAPS = [76, 64];

/**
 * @param secrets their values. Multi-line secrets are also masked line by line, since logs are processed by line.
 * @example createMasks(['s3cret']).apply('token=s3cret, basic OnMzY3JldA==') // 'token=***, basic ***=='
 */
export function createMasks(secrets: Iterable<string>): Masks {
  /** The forms of the secrets by their first characters, the longest first in each list. */
  const byStart = new Map<string, string[]>();
  const starts = new Uint8Array(65_536);
  const alone = new Set<string>();
  const known = new Set<string>();
  let charsMax = 0;
  for (const secret of secrets) {
    for (const form of formsOf(secret)) {
      if (known.has(form)) continue;
      known.add(form);
      charsMax = Math.max(charsMax, form.length);
      if (form.length < CHARS_MIN) {
        alone.add(form);
        continue;
      }
      const start = form.slice(0, CHARS_MIN);
      starts[start.charCodeAt(0)] = 1;
      const forms = byStart.get(start);
      if (forms === undefined) byStart.set(start, [form]);
      else forms.push(form);
    }
  }
  for (const forms of byStart.values()) forms.sort((one, other) => other.length - one.length);
  const short =
    alone.size === 0
      ? null
      : new RegExp(`(?<![\\p{L}\\p{N}_])(?:${[...alone].map(escaped).join('|')})(?![\\p{L}\\p{N}_])`, 'gu');

  return {
    charsMax,
    apply(text) {
      let masked = '';
      let taken = 0;
      /** Start and end of the range that is being replaced. */
      let [from, to] = [-1, -1];
      for (let at = 0; at + CHARS_MIN <= text.length; at++) {
        if (starts[text.charCodeAt(at)] === 0) continue;
        const forms = byStart.get(text.slice(at, at + CHARS_MIN));
        const found = forms?.find((form) => text.startsWith(form, at));
        if (found === undefined) continue;
        if (at > to) {
          if (to !== -1) {
            masked += text.slice(taken, from) + MASK;
            taken = to;
          }
          from = at;
        }
        to = Math.max(to, at + found.length);
      }
      if (to !== -1) {
        masked += text.slice(taken, from) + MASK;
        taken = to;
      }
      const whole = taken === 0 ? text : masked + text.slice(taken);
      return short === null ? whole : whole.replace(short, MASK);
    },
  };
}

/** Escapes a text for a regular expression with the flag `u`. */
function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

/** Lists the forms of a secret: its value, its lines, and its encodings. */
function* formsOf(secret: string): Generator<string> {
  for (const value of new Set([secret, secret.trim(), ...secret.split(/\r?\n/).map((line) => line.trim())])) {
    if (value === '') continue;
    yield value;
    if (value.length < CHARS_MIN) continue;
    for (const form of encodedForms(value)) if (form.length >= CHARS_MIN) yield form;
  }
}

function* encodedForms(value: string): Generator<string> {
  const bytes = Buffer.from(value);
  yield* base64Forms(bytes);
  // `echo "$SECRET" | base64`
  yield* base64Forms(Buffer.concat([bytes, Buffer.from('\n')]));
  const hex = bytes.toString('hex');
  yield hex;
  yield hex.toUpperCase();
  yield JSON.stringify(value).slice(1, -1);
  const percent = encodeURIComponent(value.toWellFormed());
  const strict = percent.replaceAll(/[!'()*~]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  for (const form of new Set([percent, strict, percent.replaceAll('%20', '+'), strict.replaceAll('%20', '+')])) {
    yield form;
    yield form.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
  }
  // Percent encoding of every character: `%41%42`.
  const every = Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  yield every;
  yield every.toUpperCase();
}

/** Base64 of the value alone, and inside a longer text at each of three alignments. */
function* base64Forms(bytes: Buffer): Generator<string> {
  for (const encoding of ['base64', 'base64url'] as const) {
    const whole = bytes.toString(encoding);
    yield whole;
    for (const columns of WRAPS)
      if (whole.length > columns)
        for (let at = 0; at < whole.length; at += columns) yield whole.slice(at, at + columns);
    for (const before of [0, 1, 2]) {
      const text = Buffer.concat([Buffer.alloc(before), bytes])
        .toString(encoding)
        .replaceAll('=', '');
      // The encoding without the characters that also encode adjacent bytes.
      const rest = (before + bytes.length) % 3;
      yield text.slice(before === 0 ? 0 : before + 1, rest === 0 ? undefined : -1);
    }
  }
}
