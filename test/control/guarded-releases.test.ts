// Four guarded releases under load, over a supervisor with engines that are processes: one that fails one request in
// thirty, one that is slow, one that leaks CPU, and a good one under noise. It prints what each step saw, when it was
// decided, and how many visitors had met the new deployment. Steps take real minutes: figures are kept by the minute.
import '#test/setup/over-processes.ts';
import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, before, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { collectUsage } from '#control/usage/collect.ts';
import { startReleaseControl, type ReleaseControl } from '#test/setup/release-control.ts';
import { until } from '#test/setup/until.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- what the API answered
type Json = any;

const yaml = 'release: { steps: [10, 50, 100], minutes: 1 }\n';
const PER_SECOND = 40;
/** A visitor leaves after so many requests. */
const REQUESTS_OF_VISITOR = 5;
const TICK_MS = 20;

/** The release before, and what all have in common: a page that takes its time, and fails now and then. */
const noisy = (version: string, more = ''): string => `
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const spin = (rounds) => { let sum = 0; for (let i = 0; i < rounds * 1000; i++) sum += Math.sqrt(i); return sum; };
let requests = 0;
export default {
  async fetch() {
    requests++;
    const headers = { 'x-version': '${version}' };
    spin(100 + Math.random() * 100);
    await pause(Math.random() < 0.005 ? 100 : 5 + Math.random() * 15);
    ${more}
    if (Math.random() < 0.003) return new Response('unlucky', { status: 500, headers });
    return new Response('hello', { headers });
  },
};`;

/** Code that is new in each release. */
const releases = {
  failing: `if (requests % 10 === 0) return new Response('bad', { status: 500, headers });`,
  slow: 'await pause(60);',
  leaking: 'spin(requests * 20);',
  good: '',
} as const;

let all: ReleaseControl;
before(async () => {
  all = await startReleaseControl({}, { limits: { ...defaultLimits.control, requestsPerMinute: 1_000_000 } });
  all.control.deps.background('Collecting usage', () => collectUsage(all.control.deps, all.handlers));
});
after(() => all.close());

/** Visitors of a project who keep their cookies, at a steady rate. */
function startVisitors(project: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const started = performance.now();
  const open = new Set<Promise<void>>();
  const seen = { visitors: 0, met: 0, requests: 0, failures: 0 };
  const ask = (cookie: string | null): Promise<{ cookie: string | null; isNew: boolean; status: number }> =>
    new Promise((resolve, reject) => {
      const headers = { host: `${project}.localhost`, ...(cookie !== null && { cookie }) };
      const sending = request({ host: '127.0.0.1', port: all.platform.port, agent, headers }, (response) => {
        response.resume().on('end', () => {
          const [set] = response.headers['set-cookie'] ?? [];
          resolve({
            cookie: set?.split(';')[0] ?? cookie,
            isNew: response.headers['x-version'] === 'new',
            status: response.statusCode!,
          });
        });
      });
      sending.on('error', (error: NodeJS.ErrnoException) => {
        // A kept connection that the server closed at that moment: a client asks once more, as browsers do.
        if (sending.reusedSocket && error.code === 'ECONNRESET') ask(cookie).then(resolve, reject);
        else reject(error);
      });
      sending.end();
    });
  const visit = async (): Promise<void> => {
    let cookie: string | null = null;
    let hasMet = false;
    for (let i = 0; i < REQUESTS_OF_VISITOR; i++) {
      const answer = await ask(cookie);
      ({ cookie } = answer);
      if (!answer.isNew) continue;
      hasMet = true;
      seen.requests++;
      if (answer.status >= 500) seen.failures++;
    }
    if (hasMet) seen.met++;
  };
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - started) * PER_SECOND) / 1000 / REQUESTS_OF_VISITOR);
    for (; seen.visitors < due; seen.visitors++) {
      const done: Promise<void> = visit().finally(() => void open.delete(done));
      open.add(done);
    }
  }, TICK_MS);
  return {
    seen,
    async stop() {
      clearInterval(timer);
      await Promise.all(open);
      agent.destroy();
    },
  };
}

test('bad releases are rolled back and a good one is promoted, by themselves', async (t) => {
  const names = Object.keys(releases) as (keyof typeof releases)[];
  const ran = await Promise.all(
    names.map(async (name) => {
      const project = await all.project(name);
      const first = await all.deploy(project, { code: noisy('old'), yaml });
      const visitors = startVisitors(name);
      try {
        const began = Date.now();
        const next = await all.deploy(project, { code: noisy('new', releases[name]), yaml });
        assert.deepEqual([first.status, next.status], ['success', 'success']);
        const guarded = await until(async (): Promise<Json> => {
          const { guardedRelease } = (await all.control.call('GET', `/deployments/${next.id}`)).body;
          return guardedRelease.state !== 'running' && guardedRelease;
        });
        const took = Date.now() - began;
        const seen = { ...visitors.seen };
        const { body } = await all.control.call('GET', `/projects/${project}`);
        return { name, guarded, seen, took, live: body.productionDeploymentId === next.id };
      } finally {
        await visitors.stop();
      }
    }),
  );
  for (const { name, guarded, seen, took } of ran) {
    t.diagnostic(`${name}: ${guarded.state} after ${Math.round(took / 1000)} s. ${guarded.reason}`);
    for (const { percent, now, before: old } of guarded.steps)
      t.diagnostic(`  ${percent} %: now ${JSON.stringify(now)}, before ${JSON.stringify(old)}`);
    t.diagnostic(
      `  ${seen.met} of ${seen.visitors} visitors met the new deployment, in ${seen.requests} requests, of which ${seen.failures} failed`,
    );
  }
  assert.deepEqual(
    ran.map(({ name, guarded, live }) => [name, guarded.state, live]),
    [
      ['failing', 'rolled_back', false],
      ['slow', 'rolled_back', false],
      ['leaking', 'rolled_back', false],
      ['good', 'promoted', true],
    ],
  );
  const reasons = ran.map(({ guarded }) => guarded.reason.split(':')[0]);
  // On a busy machine, work that takes ten times the CPU is slow first.
  const ofLeaking = reasons[2] === 'Latency' ? 'Latency' : 'CPU';
  assert.deepEqual(reasons, ['Errors', 'Latency', ofLeaking, 'Within its limits']);
  // All of them were found in the first step, which gives one visitor in ten the new deployment.
  for (const { name, guarded, seen } of ran.slice(0, 3)) {
    assert.equal(guarded.steps.length, 1, name);
    assert.ok(seen.met < seen.visitors / 5, `${name}: ${seen.met} of ${seen.visitors} visitors`);
  }
});
