// Events of an ssr project: they come to a route of its server, which nobody else reaches as they do.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { deliver } from '#test/setup/events.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { SSR, ssrApp } from '#test/setup/ssr-app.ts';

const client = path.join(import.meta.dirname, '../../../packages/dev');
const clientFiles = Object.fromEntries(
  readdirSync(client)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => [`client/${name}`, readFileSync(path.join(client, name), 'utf8')]),
);

const ROUTES = `
import { Readable } from 'node:stream';
import { createEventRoute } from './client/index.ts';
const seen = [];
const take = createEventRoute({
  message: ({ payload }) => void seen.push(['message', payload]),
  timer: ({ payload }) => void seen.push(['timer', payload]),
  scheduled({ name }) {
    seen.push(['scheduled', name]);
    throw new Error('not today');
  },
  workflows: {
    orders: async ({ input }) => void seen.push(['workflow', input]),
  },
});
const route = async (request, response) => {
  const { method, url, headers } = request;
  const answer = await take(new Request('http://app' + url, { method, headers, body: Readable.toWeb(request), duplex: 'half' }));
  response.writeHead(answer.status);
  Readable.fromWeb(answer.body).pipe(response);
};
globalThis.routes = {
  '/__platform/message': route,
  '/__platform/timer': route,
  '/__platform/scheduled': route,
  '/__platform/workflow': route,
  '/seen': (request, response) => response.end(JSON.stringify(seen)),
  '/address': (request, response) => response.end(process.env.PLATFORM_APP_URL),
};
`;
const thief = `export default {
  async fetch(request) {
    const { url, ...init } = await request.json();
    const answer = await fetch(url, init);
    return new Response(answer.status + ' ' + (await answer.text()));
  },
};`;

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform({}, { LOG_LEVEL: 'debug' });
  await platform.deploy('app', '', `${SSR}queue: { JOBS: jobs }\n`, { ...ssrApp(ROUTES), ...clientFiles });
  await platform.deploy('thief', thief, '');
  await platform.answers('app', 'hello from a server');
});
after(() => platform.close());

test('messages, timers, schedules and runs of workflows come to the route of the server, and what it throws is told', async () => {
  assert.equal(await deliver(platform, 'app', 'queue', 'one'), 'ok');
  assert.equal(await deliver(platform, 'app', 'timer', 'two'), 'ok');
  assert.equal(await deliver(platform, 'app', 'cron', 'three'), 'worker_threw');
  assert.equal(await deliver(platform, 'app', 'workflow', 'four'), 'ok');
  assert.deepEqual((await platform.fetch('app', '/seen')).json(), [
    ['message', 'one'],
    ['timer', 'two'],
    ['scheduled', 'three'],
    ['workflow', 'four'],
  ]);
});

test('neither a visitor nor a worker of another project gets events in, or reaches the server past its gates', async () => {
  const visitor = await platform.fetch('app', '/__platform/message', { method: 'POST', body: '{}' });
  assert.deepEqual([visitor.status, visitor.text], [401, '{"error":"This route is for the platform alone"}']);
  const { text: url } = await platform.fetch('app', '/address');
  assert.match(url, /^http:\/\/d[0-9a-z]+\.app\.app\.platform\.internal$/);
  for (const init of [
    { url: `${url}/seen` },
    { url: `${url}/__platform/message`, method: 'POST', body: '{}' },
    { url: `${url}/__platform/../seen`, headers: { authorization: 'Bearer x' } },
    { url: 'http://nobody.app.platform.internal/__platform/message', headers: { authorization: 'Bearer x' } },
  ]) {
    const { text } = await platform.fetch('thief', '/', { method: 'POST', body: JSON.stringify(init) });
    assert.match(text, /^404 .*No deployment/s, init.url);
  }
  assert.equal(((await platform.fetch('app', '/seen')).json() as unknown[]).length, 4);
});
