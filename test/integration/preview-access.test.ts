// Who may see a preview, what its answers say to search engines, and production while it is split: at the public port.
// Where engines are processes there are two of them, and requests pass between them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RouteRecord } from '#core/manifest.ts';
import { hashPreviewBypass, hashPreviewPassword } from '#core/preview-access.ts';
import { changeRoute } from '#artifacts/route-records.ts';
import { startPlatformHere, type PlatformHere } from '#test/setup/platform-here.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';
import type { TestRequest, TestResponse } from '#test/setup/send.ts';
import { until } from '#test/setup/until.ts';

const worker = (name: string): string => `
export default {
  async fetch(request) {
    const { pathname, search } = new URL(request.url);
    if (pathname === '/seen')
      return Response.json({ cookie: request.headers.get('cookie'), bypass: request.headers.get('x-platform-protection-bypass'), search });
    if (pathname === '/stream') return new Response(new Blob(['streamed']).stream());
    if (pathname === '/throw') throw new Error('no');
    return new Response('${name}', { headers: { 'set-cookie': 'own=1' } });
  },
};`;
const token = 'bypass-token-of-tests';
const bypass = { 'x-platform-protection-bypass': token };
const page = { accept: 'text/html' };

let platform: PlatformHere;
const change = (to: (record: RouteRecord) => RouteRecord): RouteRecord => changeRoute(platform.folder, 'shop', to);
const get = (host: string, path = '/', options: TestRequest = {}): Promise<TestResponse> =>
  platform.fetch(host, path, options);
const login = (password: string, next = '/seen?a=1', headers: Record<string, string> = {}): Promise<TestResponse> =>
  get('shop--talk', '/_platform/preview', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...page, ...headers },
    body: new URLSearchParams({ password, next }).toString(),
  });
const cookieOf = ({ headers }: TestResponse): string => headers['set-cookie']![0]!.split(';')[0]!;

before(async () => {
  platform = await startPlatformHere({}, { TRUSTED_PROXIES: '127.0.0.1' }, { databases: false, engines: 2 });
  await platform.deploy('shop', worker('main'), '', { 'public/file.txt': 'a file' });
  await platform.deploy('shop', worker('talk'), 'assets: {}\n', { 'public/file.txt': 'a file' }, 'talk');
  await platform.answers('shop--talk', 'talk');
  await platform.answers('shop', 'main');
});
after(() => platform.close());

test('answers of previews are for no search engine, those of production are', async () => {
  const tagOf = async (host: string, path?: string): Promise<unknown> =>
    (await get(host, path)).headers['x-robots-tag'];
  const { branches, production } = change((record) => record);
  for (const path of ['/', '/stream', '/throw', '/file.txt'])
    assert.deepEqual(
      [await tagOf('shop', path), await tagOf('shop--talk', path), await tagOf(`shop--${branches['talk']}`, path)],
      [undefined, 'noindex', 'noindex'],
      path,
    );
  assert.deepEqual([await tagOf('shop--main'), await tagOf(`shop--${production}`)], [undefined, undefined]);
});

test('a protected preview is 401 until its password or its bypass token comes, and tells its worker neither', async () => {
  const passwordHash = await hashPreviewPassword('open sesame');
  change((record) => ({ ...record, protection: { passwordHash, bypassHash: hashPreviewBypass(token) } }));
  await until(async () => (await get('shop--talk')).status === 401);
  assert.equal((await get('shop')).text, 'main');
  const refused = await get('shop--talk', '/seen');
  assert.deepEqual(
    [
      refused.status,
      refused.headers['x-platform-error'],
      refused.headers['cache-control'],
      refused.headers['x-robots-tag'],
    ],
    [401, 'preview_protected', 'no-store', 'noindex'],
  );
  // Nothing of it comes through: no file, no page of users, no signed address.
  for (const path of ['/file.txt', '/auth/me', '/_platform/files/x', '/throw', '/_platform/preview'])
    assert.equal((await get('shop--talk', path)).status, 401, path);
  const form = await get('shop--talk', '/seen?a=%22%3E', { headers: page });
  assert.equal(form.status, 401);
  assert.match(form.text, /<input type="hidden" name="next" value="\/seen\?a=%22%3E">/);
  assert.match(String(form.headers['content-security-policy']), /default-src 'none'/);

  assert.equal((await login('wrong')).status, 401);
  const right = await login('open sesame');
  assert.deepEqual([right.status, right.headers.location], [303, '/seen?a=1']);
  assert.match(
    right.headers['set-cookie']![0]!,
    /^platform-preview=[0-9a-z]+\.[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800$/,
  );
  const cookie = cookieOf(right);
  const seen = async (headers: Record<string, string>): Promise<unknown> =>
    (await get('shop--talk', '/seen', { headers })).json();
  assert.deepEqual(await seen({ cookie: `a=1; ${cookie}; b=2` }), { cookie: 'a=1; b=2', bypass: null, search: '' });
  assert.deepEqual(await seen({ cookie }), { cookie: null, bypass: null, search: '' });
  assert.deepEqual(await seen({ ...bypass, cookie: 'a=1' }), { cookie: 'a=1', bypass: null, search: '' });
  assert.equal((await get('shop--talk', '/file.txt', { headers: { cookie } })).text, 'a file');
});

test('a token in the query becomes a cookie and leaves the address', async () => {
  const passed = await get('shop--talk', `/seen?a=1&x-platform-protection-bypass=${token}&b=2`);
  assert.deepEqual([passed.status, passed.headers.location], [307, '/seen?a=1&b=2']);
  assert.equal((await get('shop--talk', '/', { headers: { cookie: cookieOf(passed) } })).text, 'talk');
  assert.equal((await get('shop--talk', '/?x-platform-protection-bypass=wrong')).status, 401);
});

test('a login goes on at a path of this host only', async () => {
  for (const next of ['//evil.example', '/\\evil.example', 'https://evil.example', '/a\r\nx: y', 'javascript:1', ''])
    assert.equal((await login('open sesame', next)).headers.location, '/', JSON.stringify(next));
  const large = await login('open sesame', '/', { 'x-pad': '1' });
  assert.equal(large.status, 303);
  const huge = await get('shop--talk', '/_platform/preview', { method: 'POST', body: 'password='.padEnd(10_000, 'x') });
  assert.equal(huge.status, 413);
});

test('no cookie that was not signed for these credentials passes, nor a header that only looks right', async () => {
  const cookie = cookieOf(await login('open sesame'));
  const [name, value] = cookie.split('=') as [string, string];
  const [expiry, signature] = value.split('.') as [string, string];
  const status = async (headers: Record<string, string | string[]>): Promise<number> =>
    (await get('shop--talk', '/', { headers })).status;
  const later = (Number.parseInt(expiry, 36) + 86_400_000).toString(36);
  const forged = [
    `${later}.${signature}`,
    `${expiry}.${signature.slice(1)}`,
    `${expiry}.${'A'.repeat(43)}`,
    `${expiry}.`,
    `.${signature}`,
    `${expiry}`,
    `zzzzzzzzz.${'-'.repeat(43)}`,
    `NaN.${signature}`,
    `${value}.${signature}`,
    `"${value}"`,
    `${value}=`,
  ];
  for (const each of forged) assert.equal(await status({ cookie: `${name}=${each}` }), 401, each);
  for (const each of [`x${name}=${value}`, `${name.toUpperCase()}=${value}`, `${value}`, `${name}`, `a="${cookie}"`])
    assert.equal(await status({ cookie: each }), 401, each);
  for (const headers of [
    { 'x-platform-protection-bypass': hashPreviewBypass(token) },
    { 'x-platform-protection-bypass': '' },
    { 'x-platform-protection-bypass': `${token} ` + 'x' },
    { 'x-platform-protection-bypass': 'x'.repeat(4096) },
    { 'x-platform-protection-bypass': ['wrong', token] },
    { 'x-original-host': 'shop.localhost', 'x-forwarded-host': 'shop.localhost' },
  ])
    assert.equal(await status(headers), 401, JSON.stringify(headers).slice(0, 100));
  const random = createSeededRandom();
  for (let round = 0; round < Number(process.env['PREVIEW_FUZZ_ROUNDS'] ?? 200); round++) {
    const text = random.text([name, value, expiry, signature, '=', '.', ';', ' ', '"', '0', '%00', ','], 6);
    // A whole one among others passes, and is to.
    if (text.split(';').some((pair) => pair.trim() === cookie)) continue;
    assert.equal(await status({ cookie: text }), 401, `seed ${random.seed}: ${text}`);
  }
});

test('passwords are tried so often from one address, also by one who says to be many', async () => {
  const from = (address: string): Promise<TestResponse> => login('wrong', '/', { 'x-forwarded-for': address });
  // Each engine counts for itself, and a new connection may come to another one.
  const statuses = new Set<number>();
  for (let attempt = 0; attempt < 25 && !statuses.has(429); attempt++) statuses.add((await from('192.0.2.7')).status);
  assert.deepEqual([...statuses], [401, 429]);
  const late = await until(async () => {
    const answer = await from('192.0.2.7');
    return answer.status === 429 ? answer : null;
  });
  assert.ok(Number(late.headers['retry-after']) > 0);
  assert.match(late.text, /Too many wrong passwords/);
  assert.equal((await from('192.0.2.8')).status, 401);
});

test('a new password ends the cookies of the old one; without protection anybody may see it', async () => {
  const cookie = cookieOf(await get('shop--talk', `/?x-platform-protection-bypass=${token}`));
  const passwordHash = await hashPreviewPassword('another');
  change((record) => ({ ...record, protection: { passwordHash, bypassHash: hashPreviewBypass(token) } }));
  await until(async () => (await get('shop--talk', '/', { headers: { cookie } })).status === 401);
  change((record) => ({ ...record, protection: null }));
  await until(async () => (await get('shop--talk')).status === 200);
});

test('production is split by percent, a visitor stays where they were, and a growing part takes nobody back', async () => {
  await platform.deploy('shop', worker('next'));
  await platform.answers('shop', 'next');
  const { production, productionHistory, branches } = change((record) => record);
  const split = (percent: number, deployment = production!): RouteRecord =>
    change((record) => ({ ...record, production: productionHistory!.at(-1)!, split: { deployment, percent } }));
  split(0);
  await until(async () =>
    (await get('shop')).headers['set-cookie']?.some((text) => text.startsWith('platform-split=')),
  );
  const textOf = async (part: number): Promise<string> =>
    (await get('shop', '/', { headers: { cookie: `platform-split=${part}` } })).text;
  assert.deepEqual([await textOf(0), await textOf(9999)], ['main', 'main']);
  split(30);
  await until(async () => (await textOf(0)) === 'next');
  assert.deepEqual([await textOf(2999), await textOf(3000), await textOf(9999)], ['next', 'main', 'main']);
  const known = await get('shop', '/', { headers: { cookie: 'platform-split=1' } });
  assert.deepEqual(known.headers['set-cookie'], ['own=1']);
  const fresh = await get('shop', '/', { headers: { cookie: 'platform-split=99999999; x=1' } });
  assert.match(
    fresh.headers['set-cookie']!.join(),
    /^own=1,platform-split=\d{1,4}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=2592000$/,
  );
  const seen = new Set<string>();
  for (let i = 0; i < 100; i++) seen.add((await get('shop')).text);
  assert.deepEqual([...seen].toSorted(), ['main', 'next']);
  split(100);
  await until(async () => (await textOf(9999)) === 'next');
  // Visitors of production never come to a preview's data.
  split(100, branches['talk']!);
  await until(async () => (await textOf(9999)) === 'main');
  assert.equal((await get('shop')).headers['x-robots-tag'], undefined);
});
