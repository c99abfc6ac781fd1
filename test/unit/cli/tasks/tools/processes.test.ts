// What `npm run` leaves behind when it is told to end: nothing.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { root } from '#cli/tasks/tools/processes.ts';

test('a task that is told to end tells its program, and ends when that has', async (t) => {
  const module = pathToFileURL(`${root}/cli/tasks/tools/processes.ts`).href;
  const program = `process.on('SIGTERM', () => setTimeout(() => process.exit(), 50)); setInterval(() => {}, 1000); console.log(process.pid);`;
  const script = `
    import { runProgram } from ${JSON.stringify(module)};
    await runProgram(process.execPath, ['-e', ${JSON.stringify(program)}], { show: true });
    setInterval(() => {}, 1000);
  `;
  const task = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const pid = Number(String(await once(task.stdout, 'data')));
  t.after(() => {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  });
  task.kill('SIGTERM');
  assert.deepEqual(await once(task, 'exit'), [null, 'SIGTERM']);
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
});
