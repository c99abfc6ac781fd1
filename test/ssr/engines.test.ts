// Servers of ssr projects beside several engines, several deployments and the death of what runs them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RouteRecord } from '#core/manifest.ts';
import { serverFenceMissing, testsUnless } from '#test/setup/needs.ts';
import { startPlatform } from '#test/setup/platform.ts';
import { SSR, ssrApp } from '#test/setup/ssr-app.ts';
import { until } from '#test/setup/until.ts';

const { test } = testsUnless(await serverFenceMissing());

const BEGAN = `globalThis.routes = { '/began': (_, response) => response.end(String(began)) }; const began = process.hrtime.bigint();`;

test('one server answers for all engines', async (t) => {
  const platform = await startPlatform({}, { HANDLER_PROCESSES: '2' });
  t.after(() => platform.close());
  await platform.deploy('app', '', SSR, ssrApp(BEGAN));
  await until(async () => (await platform.fetch('app', '/began')).status === 200);
  const answers = await Promise.all(Array.from({ length: 40 }, () => platform.fetch('app', '/began')));
  assert.equal(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1);
});

test('when the process that runs servers is killed, the next request has another', async (t) => {
  const platform = await startPlatform({});
  t.after(() => platform.close());
  await platform.deploy('app', '', SSR, ssrApp(BEGAN));
  await until(async () => (await platform.fetch('app', '/began')).status === 200);
  const { text } = await platform.fetch('app', '/began');
  const { services } = await platform.state();
  process.kill(services.find(({ name }) => name === 'ssr')!.pid!, 'SIGKILL');
  const again = await until(async () => {
    const answer = await platform.fetch('app', '/began');
    return answer.status === 200 && answer.text !== text ? answer : null;
  });
  assert.match(again.text, /^\d+$/);
});

test('a page that stayed open is answered by the server of its own deployment', async (t) => {
  const platform = await startPlatform({});
  t.after(() => platform.close());
  const versionOf = (version: number): Record<string, string> =>
    ssrApp(`globalThis.routes = { '/version': (_, response) => response.end('${version}') };`);
  await platform.deploy('app', '', SSR, versionOf(1));
  await platform.answers('app', '1', '/version');
  const route = JSON.parse(readFileSync(join(platform.folder, 'routes/app.json'), 'utf8')) as RouteRecord;
  await platform.deploy('app', '', SSR, versionOf(2));
  await platform.answers('app', '2', '/version');
  const headers = { 'x-deployment-id': route.production! };
  assert.equal((await platform.fetch('app', '/version', { headers })).text, '1');
  assert.equal((await platform.fetch('app', '/version')).text, '2');
});
