// Cookies and origins of sign-in: what is set, what is read, and that nothing a client sends makes them fail.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cookiesOf, readCookie } from '#control/sign-in/cookies.ts';
import { isFromOwnPage, safePath } from '#control/sign-in/origin.ts';
import { createSessions } from '#control/sessions/sessions.ts';
import type { SessionStore } from '#control/sessions/session-store.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

const ROUNDS = Number(process.env['FUZZ_ROUNDS'] ?? 2000);
const UI = 'https://app.example.com';

test('over https, cookies are secure and no other host can set them', () => {
  const { session, set, clear } = cookiesOf(UI);
  assert.equal(set(session, 'v', 60), '__Host-platform-session=v; Max-Age=60; Path=/; HttpOnly; SameSite=Lax; Secure');
  assert.equal(clear(session), '__Host-platform-session=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax; Secure');
  const plain = cookiesOf('http://localhost:3002');
  assert.equal(plain.set(plain.session, 'v', 60), 'platform-session=v; Max-Age=60; Path=/; HttpOnly; SameSite=Lax');
});

test('of two cookies with one name, neither is taken', () => {
  assert.equal(readCookie('a=1; s=x; b=2', 's'), 'x');
  assert.equal(readCookie('s=x; s=y', 's'), null);
  assert.equal(readCookie('s=x; s=x', 's'), null);
  for (const header of [null, '', 's', 's=', '=s', 'xs=1', 's2=1', `s=${'x'.repeat(20_000)}`])
    assert.equal(readCookie(header, 's'), null);
});

test('whatever comes as a cookie, no session is found and nothing fails', async () => {
  const random = createSeededRandom();
  let lookups = 0;
  const store = { get: () => (lookups++, Promise.resolve(null)) } as unknown as SessionStore;
  const sessions = createSessions(store, '0123456789abcdef0123456789abcdef');
  const pieces = [
    'platform-session',
    '=',
    ';',
    ' ',
    '.',
    ',',
    '"',
    '%00',
    '\t',
    'ü',
    'A'.repeat(43),
    '__Host-',
    '-',
    '\\',
  ];
  for (let round = 0; round < ROUNDS; round++) {
    const header = random.text(pieces, 12);
    const value = readCookie(header, 'platform-session');
    if (value !== null)
      assert.equal(await sessions.find(value), null, `seed ${random.seed}: ${JSON.stringify(header)}`);
  }
  assert.equal(lookups, 0);
});

test('wherever a sign-in is to lead, it stays on our origin', () => {
  const random = createSeededRandom();
  const pieces = [
    '/',
    '\\',
    '//',
    '..',
    '.',
    '%2f',
    '%5c',
    '%2e',
    '@',
    ':',
    'https:',
    'evil.example',
    '?',
    '#',
    '\t',
    '\n',
    ' ',
    'a',
    'ü',
    '\0',
  ];
  for (let round = 0; round < ROUNDS; round++) {
    const asked = random.text(pieces, 10);
    const path = safePath(asked, UI);
    const where = `seed ${random.seed}: ${JSON.stringify(asked)} -> ${JSON.stringify(path)}`;
    assert.match(path, /^\/(?![/\\])[\x21-\x7e]*$/, where);
    assert.equal(new URL(path, UI).origin, UI, where);
    assert.equal(new URL(path, `${UI}/api/auth/callback/git-host`).origin, UI, where);
  }
  assert.equal(safePath('/a?b=/c#d', UI), '/a?b=/c#d');
  assert.equal(safePath(undefined, UI), '/');
});

test('a page of ours is known by its origin, exactly', () => {
  const from = (headers: Record<string, string>): boolean => isFromOwnPage(new Headers(headers), UI);
  assert.equal(from({ origin: UI }), true);
  assert.equal(from({ 'sec-fetch-site': 'same-origin' }), true);
  for (const origin of [
    'null',
    '',
    `${UI}.evil.example`,
    `${UI}:443`,
    'http://app.example.com',
    'https://APP.example.com',
  ])
    assert.equal(from({ origin, 'sec-fetch-site': 'same-origin' }), false, origin);
  assert.equal(from({}), false);
  assert.equal(from({ 'sec-fetch-site': 'same-site' }), false);
});
