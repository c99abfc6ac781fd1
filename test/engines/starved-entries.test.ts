// Endless loops that share one processor with sixteen busy programs: each ends with its own CPU limit, however long
// that takes, and requests beside it are served. Code that cannot be ended: test/hostile/attacks.
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

const PROGRAMS = 16;
/** A loop uses this in 7 s here. A bound of wall time abandoned it after 6. */
const LIMIT_MS = 400;

const all = { free: LIMIT_MS, pro: LIMIT_MS, enterprise: LIMIT_MS };
let handler: TestHandler;

before(async () => {
  handler = await startHandler(
    {
      app: `export default {
        fetch(request) { if (new URL(request.url).pathname === '/loop') for (;;); return new Response('ok'); },
        message() { for (;;); },
        workflows: { orders: { handler: () => { for (;;); } } },
      };`,
    },
    { cpu: { ...defaultLimits.cpu, http: all, queue: all, workflow: all } },
  );
});

after(() => handler.close());

async function codeOf(project: string, path = '/'): Promise<unknown> {
  const { status, text } = await handler.fetch(project, path);
  return status === 200 ? text : `${status} ${(JSON.parse(text) as { code: string }).code}`;
}

const message = { queueName: 'letters', messages: [{ id: 'm0', payload: 0, attempt: 1, timestamp: 0 }] };
const run = { workflow: 'orders', executionId: 'e1', run: 'r1', input: 0, steps: {} };

test('on a starved machine endless loops end with their CPU limit, and requests beside them are served', async (t) => {
  const programs: ChildProcess[] = [];
  t.after(() => {
    for (const program of programs) program.kill('SIGKILL');
  });
  if (!shareProcessor(programs)) {
    t.skip('taskset cannot put programs on one processor here');
    return;
  }
  assert.equal(await codeOf('app'), 'ok');
  const ends = await Promise.all([
    codeOf('app', '/loop'),
    codeOf('app', '/beside'),
    handler.deliver('app', 'queue', message).then(({ outcome }) => outcome),
  ]);
  assert.deepEqual(ends, ['500 cpu_limit_exceeded', 'ok', 'cpu_limit_exceeded']);
  assert.equal((await handler.deliver('app', 'workflow', run)).outcome, 'cpu_limit_exceeded');
});

/** Puts this process on one processor, beside programs that never rest. */
function shareProcessor(programs: ChildProcess[]): boolean {
  try {
    const allowed = /^Cpus_allowed_list:\s*(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]!;
    execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', allowed, String(process.pid)], { stdio: 'ignore' });
  } catch {
    return false;
  }
  // They inherit the processor, and end with this process.
  for (let count = 0; count < PROGRAMS; count++)
    programs.push(spawn('sh', ['-c', 'while kill -0 $PPID; do :; done'], { stdio: 'ignore' }));
  return true;
}
