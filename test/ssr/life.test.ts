// When a server of an ssr project runs, and what becomes of one that does not behave.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { serverFenceMissing, testsUnless } from '#test/setup/needs.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { SSR, ssrApp } from '#test/setup/ssr-app.ts';
import { until } from '#test/setup/until.ts';

const { test } = testsUnless(await serverFenceMissing());

/** A platform with the project `app`; `code` stands before its server listens. */
async function open(
  t: TestContext,
  code: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<TestPlatform> {
  // A busy machine takes its time for a start, and one that failed is left alone for a while.
  const platform = await startPlatform({}, { SSR_START_MS: '150000', ...environment });
  t.after(() => platform.close());
  await platform.deploy('app', '', SSR, ssrApp(code));
  await until(async () => (await platform.fetch('app')).status !== 404);
  return platform;
}

/** The server says when it began: each run says another number. */
const BEGAN = `globalThis.routes = { '/began': (_, response) => response.end(String(began)) }; const began = process.hrtime.bigint();`;

test('the first request starts it, and one that nothing has come to for a while is asked to end', async (t) => {
  const code = `${BEGAN} process.on('SIGTERM', () => { console.log('asked to end'); process.exit(0); });`;
  const platform = await open(t, code, { SSR_IDLE_MS: '100' });
  const { text } = await platform.fetch('app', '/began');
  await platform.logged(({ msg }) => msg === 'asked to end');
  const again = await platform.fetch('app', '/began');
  assert.equal(again.status, 200);
  assert.notEqual(again.text, text);
});

test('one that ignores SIGTERM is killed', async (t) => {
  const code = `${BEGAN} process.on('SIGTERM', () => console.log('not now'));`;
  const platform = await open(t, code, { SSR_IDLE_MS: '100', SSR_STOP_MS: '100' });
  const { text } = await platform.fetch('app', '/began');
  await platform.logged(({ msg }) => msg === 'not now');
  // It waits for the end of the first one.
  const again = await platform.fetch('app', '/began');
  assert.equal(again.status, 200);
  assert.notEqual(again.text, text);
});

test('one that ends at its start is left alone for a while, and visitors hear when to come again', async (t) => {
  const platform = await open(t, `throw new Error('no database');`);
  const line = await platform.logged(({ msg }) => String(msg).startsWith('Server not started'));
  assert.match(String(line['msg']), /exit code 1.*Error: no database/);
  const { status, headers, text } = await platform.fetch('app');
  assert.equal(status, 503);
  const seconds = Number(headers['retry-after']);
  assert.ok(seconds >= 1, `retry-after: ${seconds}`);
  assert.deepEqual(JSON.parse(text), {
    error: `The server of this deployment did not start, the next attempt is in ${seconds} s`,
    code: 'server_start_failed',
    retryAfterSeconds: seconds,
  });
});

test('one that never listens is ended, and its log says on which port it should', async (t) => {
  const platform = await open(t, 'await new Promise(() => setInterval(() => {}, 1000));', { SSR_START_MS: '500' });
  const line = await platform.logged(({ msg }) => String(msg).startsWith('Server not started'));
  assert.match(String(line['msg']), /did not listen within 500 ms \(SSR_START_MS\).*the variable PORT/);
});

for (const [what, code] of [
  [
    'objects',
    `const held = []; setInterval(() => held.push(Array.from({ length: 200_000 }, (_, at) => 'x' + at)), 5);`,
  ],
  ['buffers', `const held = []; setInterval(() => held.push(Buffer.alloc(8_000_000, 1)), 5);`],
] as const)
  test(`one that holds too much memory in ${what} is ended, its log says so, and the next request has another`, async (t) => {
    const platform = await open(
      t,
      `import fs from 'node:fs'; if (process.env.NAME === undefined) setTimeout(() => { ${code} }, 500);`,
      {
        SSR_MEMORY_MB: '128',
      },
    );
    const line = await platform.logged(({ msg }) => String(msg).startsWith('Server ended'));
    assert.match(String(line['msg']), /more than 128 MB of memory \(SSR_MEMORY_MB\)|heap out of memory/);
    await until(async () => (await platform.fetch('app').catch(() => null))?.status === 200);
  });

test('no request is lost while deployments take turns', async (t) => {
  const platform = await open(
    t,
    `globalThis.routes = { '/version': (_, response) => setTimeout(() => response.end('0'), 20) };`,
  );
  const seen = new Set<string>();
  let isDone = false;
  const visits = async (): Promise<void> => {
    while (!isDone) {
      const { status, text } = await platform.fetch('app', '/version');
      assert.equal(status, 200, text);
      seen.add(text);
    }
  };
  const visitors = Promise.all([visits(), visits(), visits(), visits()]);
  for (const version of [1, 2, 3]) {
    const code = `globalThis.routes = { '/version': (_, response) => setTimeout(() => response.end('${version}'), 20) };`;
    await platform.deploy('app', '', SSR, ssrApp(code));
    await platform.answers('app', String(version), '/version');
  }
  isDone = true;
  await visitors;
  assert.deepEqual([...seen].sort(), ['0', '1', '2', '3']);
});

test('what servers hold, and how their starts went, is among the metrics', async (t) => {
  const platform = await open(t, '');
  await until(async () => {
    const { text } = await platform.ask('/metrics');
    const bytes = Number(/^platform_servers_resident_bytes\S* (\d+)/m.exec(text)?.[1] ?? 0);
    return /^platform_servers_running\S* 1$/m.test(text) && bytes > 1_000_000;
  });
  const { text } = await platform.ask('/metrics');
  assert.match(text, /^platform_server_starts_total\{.*outcome="ok".*\} 1$/m);
});
