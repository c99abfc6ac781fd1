import assert from 'node:assert/strict';
import { test } from 'node:test';
import ivm from 'isolated-vm';
import { host } from '#runtime/engine/guest/host.ts';
import { URL as GuestUrl } from '#runtime/engine/guest/web/url.ts';
import { loadNative } from '#runtime/engine/isolates/native.ts';
import { connectGuestHost } from '#test/setup/guest-host.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';

connectGuestHost();
const withoutNative = host.plainUrl;
host.plainUrl = nativePlainUrl();

/** The native half's own, in an isolate. */
function nativePlainUrl(): typeof host.plainUrl {
  const context = new ivm.Isolate({ memoryLimit: 32 }).createContextSync();
  context.global.setSync('native', (loadNative().createSync(context) as ivm.Reference<object>).derefInto());
  const ask = context.evalSync(
    `const places = new Uint32Array(6);
    (text, base) => {
      const href = native.plainUrl(text, base, places);
      return href === undefined ? undefined : JSON.stringify([href, ...places]);
    }`,
    { reference: true },
  ) as ivm.Reference<(text: string, base?: string) => string | undefined>;
  return (text, base, places) => {
    const answer = ask.applySync(undefined, [text, base]);
    if (answer === undefined) return undefined;
    const [href, ...at] = JSON.parse(answer) as [string, ...number[]];
    places.set(at);
    return href;
  };
}

const members = [
  'href',
  'origin',
  'protocol',
  'username',
  'password',
  'host',
  'hostname',
  'port',
  'pathname',
  'search',
  'hash',
] as const;
const settable = members.filter((name) => name !== 'origin');
const pieces = [
  'http:',
  'https:',
  'file:',
  'ws:',
  'foo:',
  'mailto:',
  'blob:',
  'HTTP:',
  '//',
  '/',
  '\\',
  '///',
  '?',
  '#',
  '@',
  ':',
  'user',
  'pass',
  'example.com',
  'EXAMPLE.com',
  'a',
  'b',
  '..',
  '.',
  '%2e',
  '%2E%2e',
  '...',
  '.a',
  'C:',
  'C|',
  'localhost',
  '127.0.0.1',
  '0x7f.1',
  '256',
  '999999999999',
  '[::1]',
  '[1:2:3:4:5:6:7:8]',
  '[::ffff:1.2.3.4]',
  '[1::2::3]',
  '[',
  ']',
  ':80',
  ':443',
  ':8080',
  ':99999',
  ':08',
  ' ',
  '\t',
  '\n',
  '"',
  '<',
  '`',
  '{',
  '|',
  '^',
  '%',
  '%41',
  '%zz',
  '%00',
  '%09',
  'é',
  'ü.de',
  '\u2603',
  '\u{1f4a9}',
  '\ud800',
  // Whole labels only: one that cannot be decoded is refused here, as the standard asks, and let through by Node.
  '.xn--nxasmq6b.',
  'x=1',
  '&',
  '=',
  '+',
  "'",
  '(',
  '~',
  ',',
  ';',
  '$',
  '!',
  '\0',
  '\x1f',
  '\x7f',
  '\x80',
  '--',
  '_',
  '0x',
  '\u00df',
  'a\u00adb',
  '\uff11',
  '\u3002',
];

type AnyUrl = Record<(typeof members)[number], string>;

function describe(make: () => AnyUrl): string {
  try {
    const url = make();
    return members.map((name) => url[name]).join(' | ');
  } catch (error) {
    return (error as Error).name;
  }
}

test('parses and changes random URLs exactly as Node does', () => {
  const random = createSeededRandom();
  const start = () =>
    random.pick(['http://', 'https://', 'file://', 'foo://', 'foo:', 'file:', '', '']) + random.text(pieces, 7);
  for (let round = 0; round < fuzzRounds(2000); round++) {
    const text = start();
    const base = random.below(3) === 0 ? start() : undefined;
    const name = random.pick(settable);
    const value = random.text(pieces, 5);
    const note = JSON.stringify({ seed: random.seed, text, base, name, value });
    const inOurs = describe(() => new GuestUrl(text, base) as AnyUrl);
    assert.equal(
      inOurs,
      describe(() => new URL(text, base)),
      note,
    );
    assert.equal(GuestUrl.canParse(text, base), URL.canParse(text, base), note);
    if (inOurs === 'TypeError') continue;
    const change = (make: () => AnyUrl) =>
      describe(() => {
        const url = make();
        url[name] = value;
        return url;
      });
    assert.equal(
      change(() => new GuestUrl(text, base) as AnyUrl),
      change(() => new URL(text, base)),
      note,
    );
  }
});

test('the native half says of ordinary URLs what the whole parser says, and knows them', () => {
  const random = createSeededRandom();
  const paths = [
    '/',
    'a',
    'b.c',
    '.',
    '..',
    '-',
    '%20',
    '%2e',
    '~',
    ':',
    '@',
    '(',
    "'",
    '^',
    '|',
    '.well-known',
    'items/42',
    '[',
    ']',
    '\\',
  ];
  const tails = [
    '',
    '?',
    '?x=1&y=a%20b',
    "?it's",
    '?a?b',
    '#',
    '#top',
    '?q#f',
    '#f?q#g',
    '?`',
    '#`',
    '? ',
    '?{}',
    '#é',
  ];
  const hosts = [
    'h',
    'example.com',
    'a-b.c',
    'xn--a.b',
    'a.1',
    '1.a',
    'a.',
    'A.b',
    'h:81',
    'h:80',
    'h:',
    'h:08',
    'h:65535',
    'h:65536',
    'h:x',
    '',
  ];
  let known = 0;
  for (let round = 0; round < fuzzRounds(1000); round++) {
    const base =
      random.below(2) === 0
        ? undefined
        : `http${random.pick(['', 's'])}://${random.pick(hosts)}/${random.text(paths, 4)}${random.pick(tails)}`;
    const path = random.text(paths, 6) + random.pick(tails);
    const text = base === undefined ? `http${random.pick(['', 's'])}://${random.pick(hosts)}/${path}` : path;
    const native = describe(() => new GuestUrl(text, base) as AnyUrl);
    if (host.plainUrl(text, base, new Uint32Array(6)) !== undefined) known++;
    const given = host.plainUrl;
    host.plainUrl = withoutNative;
    const whole = describe(() => new GuestUrl(text, base) as AnyUrl);
    host.plainUrl = given;
    assert.equal(native, whole, JSON.stringify({ seed: random.seed, text, base }));
  }
  assert.ok(known > 50, `only ${known} were known as ordinary`);
  for (const [text, base] of [
    ['https://shop.example.com/items/42?page=2#top'],
    ['/', 'https://a.test/b'],
    ['/a/../b?c', 'https://a.test/'],
    ['../c/./d', 'https://a.test/a/b/c'],
    ['?x', 'https://a.test/a?y#z'],
    ['#x', 'https://a.test/a?y#z'],
  ] as [string, string?][])
    assert.notEqual(host.plainUrl(text, base, new Uint32Array(6)), undefined, text);
});

test('gives an ordinary URL back as it is', () => {
  const text = 'https://example.com:8443/.well-known/a-b_c/%20?x=1&y=a%20b#top';
  const url = new GuestUrl(text);
  assert.equal(url.href, text);
  assert.equal(url.port, '8443');
  assert.equal(url.pathname, '/.well-known/a-b_c/%20');
  assert.equal(JSON.stringify({ url }), `{"url":"${text}"}`);
});

test('joins a path and a base as Node does, dot segments and all', () => {
  const random = createSeededRandom();
  const parts = [
    'a',
    'b.c',
    '.',
    '..',
    '/',
    '/',
    '%2e',
    '?',
    '#',
    ':',
    '\\',
    ' ',
    'é',
    '...',
    '.a',
    '..b',
    '\t',
    '[',
    '%41',
  ];
  const bases = [
    'http://h/',
    'https://h.com/a/b/c',
    'http://h//',
    'http://h/a//b//?q=/x#f/g',
    'https://h:81/a/b/?x/../y',
    'http://u:p@h/a/b',
  ];
  const read = (UrlClass: typeof URL, text: string, base: string): string => {
    const url = UrlClass.parse(text, base);
    return url === null ? 'invalid' : [url.href, url.host, url.pathname, url.search, url.hash].join(' | ');
  };
  for (let i = 0; i < fuzzRounds(300); i++) {
    const text = random.text(parts, 6);
    const base = random.pick(bases);
    assert.equal(
      read(GuestUrl as unknown as typeof URL, text, base),
      read(URL, text, base),
      `${JSON.stringify(text)} on ${base}, ${random.seed}`,
    );
  }
});

test('names the URL that cannot be parsed', () => {
  assert.throws(() => new GuestUrl('/only/a/path'), {
    name: 'TypeError',
    message: 'Invalid URL: "/only/a/path"',
    code: 'ERR_INVALID_URL',
  });
  assert.equal(GuestUrl.parse('/only/a/path'), null);
});

test('keeps the query and its parameters in step', () => {
  const url = new GuestUrl('https://a.test/?x=1');
  const { searchParams } = url;
  searchParams.append('y', 'two words');
  assert.equal(url.href, 'https://a.test/?x=1&y=two+words');
  url.search = '?z=3';
  assert.deepEqual([...searchParams], [['z', '3']]);
  searchParams.delete('z');
  assert.equal(url.href, 'https://a.test/');
});
