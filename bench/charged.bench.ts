// `npm run bench charged`: whether all CPU of a worker is charged, however its code ends. For each kind of end,
// compares the CPU of the isolates' threads with what the deployment is charged. Linux only.
import { get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { startHandler } from '../test/setup/handler.ts';
import { readThreads } from './thread-figures.ts';
import { formatTable } from './statistics.ts';

/** One kind of end. */
interface End {
  /** Body of `fetch`, or of another handler where `event` names it. */
  readonly code: string;
  readonly top?: string;
  readonly event?: 'timer';
  /** Events that come together; 1 by default. */
  readonly together?: number;
  /** The client goes after so long. */
  readonly leavesMs?: number;
  /** For how long to look after the answer, and after that until nothing runs. */
  readonly afterMs?: number;
}

/** Half a second and more, of which a machine that is busy makes a whole one. */
const work = '{ let x = 1; for (let i = 0; i < 3e7; i++) x = (x * 48271) % 2147483647; globalThis.x = x; }';
const ends: Readonly<Record<string, End>> = {
  answered: { code: `${work} return new Response('done');` },
  'threw an error': { code: `${work} throw new Error('no');` },
  'over its CPU limit': { code: 'for (;;);' },
  'over its CPU limit in BigInt, two at a time': {
    code: 'await 0; for (let n = 3n; ; ) n = (n * n) % (2n ** 200_000n - 1n);',
    event: 'timer',
    together: 2,
  },
  'heap over its limit': { code: `${work} const all = []; for (;;) all.push(new Array(1000).fill(all.length));` },
  'heap over its limit inside a built-in': {
    code: `${work} const map = new Map(); for (let i = 0; ; i++) map.set(i, { i });`,
  },
  'heap over its limit, of an event': {
    code: `${work} const all = []; for (;;) all.push(new Array(1000).fill(all.length));`,
    event: 'timer',
  },
  'memory outside of the heap over its limit': {
    code: `${work} const all = []; for (;;) { try { all.push(new Uint8Array(1e6).fill(1)); } catch { all.push('x'.repeat(1000) + all.length); } }`,
  },
  'its client left': { code: `${work} ${work} return new Response('late');`, leavesMs: 100 },
  'work given to waitUntil': {
    code: `ctx.waitUntil(scheduler.wait(1).then(() => { ${work} })); return new Response('done');`,
  },
  'top level over its CPU limit': { code: `return new Response('never');`, top: 'for (;;);' },
  'cannot be ended': { code: 'const a = []; a[2 ** 32 - 2] = 1; return new Response(String(a));' },
  'cannot be ended, two seconds later': {
    code: 'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);',
    afterMs: 2000,
  },
};

const limitsOf = { free: 2000, pro: 2000, enterprise: 2000 };
const names = Object.keys(ends);
const handler = await startHandler(
  Object.fromEntries(
    Object.values(ends).map(({ code, top = '', event }, at) => [
      `end${at}`,
      event === undefined
        ? `${top} export default { async fetch(request, env, ctx) { if (new URL(request.url).pathname === '/') return new Response('warm'); ${code} } };`
        : `export default { fetch: () => new Response('warm'), async ${event}() { ${code} } };`,
    ]),
  ),
  {
    isolateMemoryMb: 64,
    startupCpuMs: 2000,
    wallMs: 600_000,
    cpu: { http: limitsOf, queue: limitsOf, timer: limitsOf, cron: limitsOf, workflow: limitsOf },
  },
);

/** CPU of threads that isolates run on, those that have ended included as far as they were seen. */
const threads = new Map<number, number>();
function look(): number {
  for (const [id, { thread, cpuNs }] of readThreads(process.pid, () => 'engine'))
    if (thread === 'isolates') threads.set(id, cpuNs);
  return [...threads.values()].reduce((sum, ns) => sum + ns, 0) / 1e6;
}
/** Of all projects: threads that are lost burn on beside the ends that follow. */
function charged(): number {
  return handler.engine.usage.take().reduce((sum, { cpuMs, hostCpuMs }) => sum + cpuMs + hostCpuMs, 0);
}

async function run(project: string, { event, together = 1, leavesMs }: End): Promise<string> {
  if (event !== undefined) {
    const told = Array.from({ length: together }, () =>
      handler.deliver(project, event, { name: 'end', id: 'end', at: '2026-01-01T00:00:00.000Z', payload: null }),
    );
    return [...new Set((await Promise.all(told)).map(({ outcome }) => outcome))].join(', ');
  }
  if (leavesMs !== undefined) {
    const sent = get({
      host: '127.0.0.1',
      port: handler.port,
      path: '/end',
      headers: { host: `${project}.localhost` },
    });
    sent.on('error', () => {});
    await delay(leavesMs);
    sent.destroy();
    return 'client_gone';
  }
  const { headers, status } = await handler.fetch(project, '/end');
  return String(headers['x-platform-error'] ?? status);
}

const rows: (string | number)[][] = [];
for (const [at, name] of names.entries()) {
  const end = ends[name]!;
  const project = `end${at}`;
  if (end.top === undefined) await handler.fetch(project);
  await delay(300);
  charged();
  const looks = setInterval(look, 20);
  const usedBefore = look();
  const answer = await run(project, end);
  await delay(end.afterMs ?? 200);
  while (handler.engine.scheduler.running > 0 || handler.handler.load > 0) await delay(50);
  await delay(200);
  const used = look() - usedBefore;
  clearInterval(looks);
  const told = charged();
  rows.push([name, answer, Math.round(used), Math.round(told), `${((told / used) * 100).toFixed(0)} %`]);
}
process.stdout.write(`${formatTable(['end', 'code', 'used ms', 'charged ms', 'charged'], rows)}\n`);
// What cannot be ended goes on.
process.kill(process.pid, 'SIGKILL');
