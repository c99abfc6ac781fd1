// A deployment has its home in one of the engines: the others send it its requests, while that is cheaper than an
// isolate of their own. Through real engines; what clients see of it is in test/contract/listener-forwarded.test.ts.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { until } from '#test/setup/until.ts';

const counting = `let count = 0; export default { async fetch(request) {
  const { pathname } = new URL(request.url);
  if (pathname === '/count') return new Response(String(++count));
  if (pathname === '/echo') return new Response(await request.text(), { headers: { 'x-from': request.headers.get('x-real-ip') } });
  if (pathname === '/wait') { await new Promise((resolve) => setTimeout(resolve, 60_000)); return new Response('late'); }
  return new Response('well');
} };`;

const asking = `export default { async fetch(request) {
  const { searchParams } = new URL(request.url);
  return fetch(searchParams.get('url'), { method: 'POST', body: 'passed on' }).catch(({ message }) => new Response(message));
} };`;

/** Each on a connection of its own, so that they spread over the engines. */
async function counts(platform: TestPlatform, requests: number): Promise<number[]> {
  const seen: number[] = [];
  for (let i = 0; i < requests; i++)
    seen.push(Number((await platform.fetch('app', '/count', { headers: { connection: 'close' } })).text));
  return seen;
}

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform(
    { app: counting, asks: asking },
    { HANDLER_PROCESSES: '2', HANDLER_FORWARDS_MAX: '1000000', DRAIN_MS: '300' },
  );
});
after(() => platform.close());

test('whichever engine a connection comes to, one isolate serves', async () => {
  assert.deepEqual(
    await counts(platform, 40),
    Array.from({ length: 40 }, (_, index) => index + 1),
  );
});

test('a body of a megabyte goes there and back, and the client is known', async () => {
  const body = Buffer.alloc(1_000_000, 'abcdefg');
  for (let i = 0; i < 6; i++) {
    const answer = await platform.fetch('app', '/echo', { method: 'POST', body, headers: { connection: 'close' } });
    assert.ok(answer.body.equals(body));
    assert.equal(answer.headers['x-from'], '127.0.0.1');
  }
});

test('a worker that fetches another one reaches its one isolate, and no other port of the machine', async () => {
  const ask = async (url: string): Promise<string> =>
    (await platform.fetch('asks', `/?url=${encodeURIComponent(url)}`, { headers: { connection: 'close' } })).text;
  const before = (await counts(platform, 1))[0]!;
  for (let i = 1; i <= 4; i++)
    assert.equal(await ask(`http://app.localhost:${platform.port}/count`), String(before + i));
  assert.equal(await ask(`http://app.localhost:${platform.port}/echo`), 'passed on');
  for (const url of [`http://127.0.0.1:${platform.port}/count`, `http://app.localhost:${platform.port + 1}/count`])
    assert.match(await ask(url), /are not allowed|ENOTFOUND/, url);
});

test('requests that a dead engine took with it are asked again elsewhere, when they may be', async () => {
  const { engines } = await platform.state();
  const serving = engines.filter(({ role }) => role === 'serving');
  const waiting = Array.from({ length: 12 }, () =>
    platform.fetch('app', '/wait', { headers: { connection: 'close' } }).then(
      () => 'answered',
      () => 'lost',
    ),
  );
  await until(async () => (await platform.state()).engines.reduce((sum, { load }) => sum + load, 0) >= 12);
  const home = (await platform.state()).engines.find(({ load }) => load >= 12);
  process.kill(home!.pid, 'SIGKILL');
  // Those that were forwarded wait again, now in the other engine; those on the dead one's own connections are lost.
  await until(async () => (await platform.state()).engines.some(({ load, pid }) => pid !== home!.pid && load > 0));
  const settled = await Promise.all(
    waiting.map((request) => Promise.race([request, new Promise((resolve) => setTimeout(resolve, 50, 'waits'))])),
  );
  assert.ok(settled.includes('waits'), settled.join(' '));
  assert.equal(settled.includes('answered'), false);
  assert.equal(serving.length, 2);
});

test('an engine that forwards a deployment often gets an isolate of its own', async () => {
  const adaptive = await startPlatform({ app: counting }, { HANDLER_PROCESSES: '2', HANDLER_FORWARDS_MAX: '5' });
  const seen = await counts(adaptive, 60);
  // A second isolate counts from one again.
  assert.equal(seen.filter((count) => count === 1).length, 2);
  await adaptive.close();
});
