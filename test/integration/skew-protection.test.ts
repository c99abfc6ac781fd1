// Pages that are open while another deployment takes the place of theirs: at the public port of a platform with two
// engines, so that requests pass between them.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { RouteRecord } from '#core/manifest.ts';
import { hashPreviewPassword } from '#core/preview-access.ts';
import { rolledBack } from '#artifacts/publish.ts';
import { changeRoute } from '#artifacts/route-records.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import type { TestRequest, TestResponse } from '#test/setup/send.ts';
import { until } from '#test/setup/until.ts';

const worker = (version: string): string => `
export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === '/static-data') return new Response('${version}', { headers: { 'cache-control': 'public, max-age=60', 'cdn-cache-control': 'max-age=60' } });
    if (pathname === '/stream') return new Response(new Blob(['${version}']).stream());
    if (pathname.startsWith('/assets/')) return new Response('no such file', { status: 404 });
    return new Response('${version} ' + (await request.text()), { headers: { 'set-cookie': 'own=1' } });
  },
};`;
const page = { 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate', accept: 'text/html' };
const script = { 'sec-fetch-dest': 'script', 'sec-fetch-site': 'same-origin' };
const data = { 'sec-fetch-dest': 'empty', 'sec-fetch-site': 'same-origin' };
const of = (deployment: string): Record<string, string> => ({ ...data, cookie: `__dpl=${deployment}` });

let platform: TestPlatform;
const record = (): RouteRecord => changeRoute(platform.folder, 'shop', (before) => before);
const get = (host: string, path = '/', options: TestRequest = {}): Promise<TestResponse> =>
  platform.fetch(host, path, options);
const textOf = async (host: string, path: string, headers: Record<string, string>): Promise<string> =>
  (await get(host, path, { headers })).text.trim();

/** Deploys `shop` with a script and a page of its own; its id. */
async function deploy(version: string, options: { branch?: string; yaml?: string; project?: string } = {}) {
  const { branch = 'main', yaml = 'assets: {}\n', project = 'shop' } = options;
  await rm(join(platform.folder, 'sources', project, branch), { recursive: true, force: true });
  const files = { [`public/assets/app-AbCdEf0${version.at(-1)}.js`]: `// ${version}`, 'public/old.txt': version };
  await platform.deploy(project, worker(version), yaml, files, branch);
  const host = branch === 'main' ? project : `${project}--${branch}`;
  await platform.answers(host, version, '/stream');
  return changeRoute(platform.folder, project, (before) => before).branches[branch]!;
}

let one = '';
let two = '';
before(async () => {
  platform = await startPlatform({}, { HANDLER_PROCESSES: '2', HANDLER_SPARES: '0' });
  one = await deploy('v1');
  two = await deploy('v2');
});
after(() => platform.close());

test('a page is told its deployment by a cookie, nothing else is', async () => {
  const cookiesOf = async (path: string, headers: Record<string, string>, host = 'shop'): Promise<unknown> =>
    (await get(host, path, { headers })).headers['set-cookie'];
  const told = `__dpl=${two}; Path=/; HttpOnly; SameSite=Lax`;
  assert.deepEqual(await cookiesOf('/', page), ['own=1', told]);
  assert.deepEqual(await cookiesOf('/stream', page), [told]);
  assert.deepEqual(await cookiesOf('/old.txt', page), [told]);
  assert.deepEqual(await cookiesOf('/', page, 'shop--main'), ['own=1', told]);
  assert.deepEqual(await cookiesOf('/', data), ['own=1']);
  assert.deepEqual(await cookiesOf('/', {}), ['own=1']);
  // This address leads to the deployment for good.
  assert.deepEqual(await cookiesOf('/', page, `shop--${two}`), ['own=1']);
});

test('data, forms and files of an open page come from its deployment, the next page from the live one', async () => {
  assert.equal(await textOf('shop', '/', of(one)), 'v1');
  assert.equal(await textOf('shop', '/stream', of(one)), 'v1');
  assert.equal(await textOf('shop', '/old.txt', of(one)), 'v1');
  assert.equal(await textOf('shop', '/', { ...data, 'x-deployment-id': one }), 'v1');
  assert.equal(await textOf('shop', `/?dpl=${one}`, data), 'v1');
  const form = { method: 'POST', headers: { ...page, cookie: `__dpl=${one}` }, body: 'sent' };
  assert.equal((await get('shop', '/', form)).text, 'v1 sent');
  assert.equal(await textOf('shop', '/', { ...page, cookie: `__dpl=${one}` }), 'v2');
  assert.equal(await textOf('shop', '/', of(two)), 'v2');
});

test('an unknown deployment, and one of another project, falls back to the live one', async () => {
  await deploy('v9', { project: 'blog' });
  const other = await deploy('v8', { project: 'blog' });
  for (const id of ['dzzzzzzzzzzzz', other, 'd00', '__proto__', `${one}x`]) {
    assert.equal(await textOf('shop', '/', { ...data, 'x-deployment-id': id }), 'v2', id);
    assert.equal(await textOf('shop', `/?dpl=${id}`, data), 'v2', id);
    assert.equal(await textOf('shop', '/', of(id)), 'v2', id);
  }
  // The header decides, also where it names what is live.
  assert.equal(await textOf('shop', '/', { ...of(one), 'x-deployment-id': two }), 'v2');
});

test('a preview, protected or not, is not reached through production; its own earlier deployments are, behind its password', async () => {
  const old = await deploy('v3', { branch: 'talk' });
  const live = await deploy('v4', { branch: 'talk' });
  for (const id of [old, live]) assert.equal(await textOf('shop', '/', of(id)), 'v2');
  assert.equal(await textOf('shop--talk', '/', of(old)), 'v3');
  // Production is not reached through a preview either: a preview has data of its own.
  assert.equal(await textOf('shop--talk', '/', of(one)), 'v4');
  const passwordHash = await hashPreviewPassword('open sesame');
  changeRoute(platform.folder, 'shop', (before) => ({ ...before, protection: { passwordHash } }));
  await until(async () => (await get('shop--talk')).status === 401);
  for (const headers of [of(old), { ...data, 'x-deployment-id': old }])
    assert.equal((await get('shop--talk', '/', { headers })).status, 401);
  assert.equal((await get('shop--talk', '/assets/app-AbCdEf03.js', { headers: of(old) })).status, 401);
  for (const id of [old, live]) assert.equal(await textOf('shop', '/', of(id)), 'v2');
  changeRoute(platform.folder, 'shop', (before) => ({ ...before, protection: null }));
});

test('a file that a bundler named by its content is found where the page was made, whoever asks', async () => {
  const found = await get('shop', '/assets/app-AbCdEf01.js', { headers: script });
  assert.equal(found.text, '// v1');
  assert.equal(found.headers['cache-control'], 'public, max-age=31536000, immutable');
  // Of a browser with another tab, whose cookie says the other deployment.
  assert.equal(await textOf('shop', '/assets/app-AbCdEf02.js', { ...script, cookie: `__dpl=${one}` }), '// v2');
  const missing = await get('shop', '/assets/app-AbCdEf99.js', { headers: script });
  assert.equal(missing.status, 404);
  // Of no preview.
  await deploy('v5', { branch: 'talk' });
  assert.equal((await get('shop', '/assets/app-AbCdEf05.js', { headers: script })).status, 404);
  assert.equal((await get('shop', '/assets/app-AbCdEf01.js', { method: 'POST', headers: script })).status, 404);
});

test('no shared cache keeps an answer for one page, nor loses one for all', async () => {
  const cachingOf = async (path: string, headers: Record<string, string>): Promise<unknown[]> => {
    const { headers: answered } = await get('shop', path, { headers });
    return [answered['cache-control'], answered['cdn-cache-control']];
  };
  assert.deepEqual(await cachingOf('/static-data', of(one)), ['private, no-cache', undefined]);
  assert.deepEqual(await cachingOf('/stream', of(one)), ['private, no-cache', undefined]);
  assert.deepEqual(await cachingOf('/old.txt', { ...data, 'x-deployment-id': one }), ['private, no-cache', undefined]);
  // Its address says whose it is.
  assert.deepEqual(await cachingOf(`/static-data?dpl=${one}`, data), ['public, max-age=60', 'max-age=60']);
  assert.deepEqual(await cachingOf('/static-data', of(two)), ['public, max-age=60', 'max-age=60']);
  assert.deepEqual(await cachingOf('/assets/app-AbCdEf01.js', of(one)), [
    'public, max-age=31536000, immutable',
    undefined,
  ]);
});

test('what a rollback left is served to nobody, what a promotion left is', async () => {
  const three = await deploy('v6');
  changeRoute(platform.folder, 'shop', (before) => rolledBack(before, two));
  await platform.answers('shop', 'v2', '/stream');
  assert.equal(await textOf('shop', '/', of(three)), 'v2');
  assert.equal(await textOf('shop', '/', of(one)), 'v1');
  assert.equal(record().deployments[three]!.supersededAt, undefined);
  assert.notEqual(record().deployments[one]!.supersededAt, undefined);
});

test('after its time a deployment is served to nobody', async () => {
  const day = 24 * 60 * 60_000;
  const age = (ms: number) =>
    changeRoute(platform.folder, 'shop', (before) => {
      const supersededAt = new Date(Date.now() - ms).toISOString();
      return {
        ...before,
        deployments: { ...before.deployments, [one]: { ...before.deployments[one]!, supersededAt } },
      };
    });
  age(day + 1000);
  await until(async () => (await textOf('shop', '/', of(one))) === 'v2');
  age(day - 60_000);
  await until(async () => (await textOf('shop', '/', of(one))) === 'v1');
});

test('a deployment that opts out tells no page, and is asked for by none; what is live decides for all', async () => {
  const out = await deploy('v7', { yaml: 'assets: {}\nskew_protection: false\n' });
  assert.deepEqual((await get('shop', '/', { headers: page })).headers['set-cookie'], ['own=1']);
  assert.equal(await textOf('shop', '/', of(one)), 'v7');
  assert.equal((await get('shop', '/assets/app-AbCdEf01.js', { headers: script })).status, 404);
  await deploy('v0');
  assert.equal(await textOf('shop', '/', of(out)), 'v0');
  assert.equal(await textOf('shop', '/', of(two)), 'v2');
  assert.equal((await get('shop', '/assets/app-AbCdEf07.js', { headers: script })).status, 404);
});
