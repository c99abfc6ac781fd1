// An invocation is charged what its code used, also where its isolate goes with it and the guest cannot report how much
// that was. `npm run bench charged` compares such charges with what the system counts.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

const LIMIT_MS = 200;
/** Code that works so much has used that much at least, on any machine that runs these tests. */
const WORK_MS_MIN = 5;
const work = 'let x = 1; for (let i = 0; i < 5e6; i++) x = (x * 48271) % 2147483647; globalThis.x = x;';
const grow = 'const all = []; for (;;) all.push(new Array(1000).fill(all.length));';

let handler: TestHandler;
before(async () => {
  const limit = { free: LIMIT_MS, pro: 60_000, enterprise: LIMIT_MS };
  const big = 'for (let n = 3n; ; ) n = (n * n) % (2n ** 200_000n - 1n);';
  const files = {
    heap: `export default { fetch() { ${work} ${grow} }, timer() { ${work} ${grow} } };`,
    top: 'for (;;); export default { fetch() {} };',
    big: `export default { fetch: () => new Response('warm'), async timer() { await 0; ${big} } };`,
  };
  handler = await startHandler(
    Object.fromEntries(
      Object.entries(files).map(([name, code]) => [name, { files: code, plan: name === 'big' ? 'free' : 'pro' }]),
    ),
    {
      isolateMemoryMb: 16,
      startupCpuMs: LIMIT_MS,
      cpu: { ...defaultLimits.cpu, http: limit, timer: limit },
    },
  );
});
after(() => handler.close());

const timer = { binding: 'CLOCK', id: 't1', scheduledTime: 5, payload: null, intervalMs: null };
const charged = (project: string): number[] =>
  handler.requests.filter((request) => request.project === project).map(({ cpuMs }) => cpuMs);

test('one that ends with its isolate is charged what it used there', async () => {
  const answer = await handler.fetch('heap');
  assert.equal(answer.headers['x-platform-error'], 'memory_limit_exceeded');
  assert.equal((await handler.deliver('heap', 'timer', timer)).outcome, 'memory_limit_exceeded');
  const ends = charged('heap');
  assert.ok(
    ends.length === 2 && ends.every((cpuMs) => cpuMs >= WORK_MS_MIN),
    `they were charged ${ends.join(', ')} ms`,
  );
});

test('those that wait for a top level which is ended are charged for it', async () => {
  const answer = await handler.fetch('top');
  assert.equal(answer.headers['x-platform-error'], 'startup_cpu_limit_exceeded');
  const [cpuMs] = charged('top');
  assert.ok(cpuMs! >= LIMIT_MS, `it was charged ${cpuMs} ms`);
});

test('where V8 has forgotten whose code was ended, all that ran are charged', async () => {
  const ends = await Promise.all([1, 2].map(() => handler.deliver('big', 'timer', timer)));
  assert.deepEqual(
    ends.map(({ outcome }) => outcome),
    ['isolate_replaced', 'isolate_replaced'],
  );
  const [one = 0, other = 0] = charged('big');
  assert.ok(one + other >= LIMIT_MS, `they were charged ${one} and ${other} ms`);
  assert.ok(Math.min(one, other) >= LIMIT_MS / 10, `they were charged ${one} and ${other} ms`);
});

test('all of that is in the usage of their deployments', () => {
  const used = new Map<string, number>();
  for (const { project, cpuMs } of handler.engine.usage.take()) used.set(project, (used.get(project) ?? 0) + cpuMs);
  for (const project of ['heap', 'top', 'big']) {
    const sum = charged(project).reduce((total, cpuMs) => total + cpuMs, 0);
    assert.ok(used.get(project)! >= sum * 0.99, `${project} used ${used.get(project)} ms and was charged ${sum}`);
  }
});
