// The launcher as the parent of a program: signals, readers and shells that go. Which Node and which flags it takes:
// test/unit/cli/run.test.ts.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { installLauncher } from '#test/setup/launcher.ts';

/** As an older Node, which cannot replace itself by another program, starts it. */
const withoutExecve = ['--import', 'data:text/javascript,delete process.execve'];

test('a signal reaches the program, and a program ended by one is reported as shells do', async (t) => {
  const launcher = installLauncher(
    t,
    `export const run = async () => { process.once('SIGTERM', () => { console.log('asked'); process.kill(process.pid, 'SIGKILL'); }); console.log('up'); setInterval(() => {}, 1e6); await new Promise(() => {}); };`,
  );
  const child = spawn(process.execPath, [...withoutExecve, launcher, 'dev'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    if (!said.includes('up')) child.kill('SIGTERM');
    said += chunk.toString();
  });
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(said, 'up\nasked\n');
  assert.equal(code, 128 + 9);
});

test('the program ends when the launcher is killed', async (t) => {
  const launcher = installLauncher(
    t,
    `export const run = async () => { process.once('SIGTERM', () => { console.log('left alone'); process.exit(0); }); console.log('up'); setInterval(() => {}, 1e6); await new Promise(() => {}); };`,
  );
  const child = spawn(process.execPath, [...withoutExecve, launcher, 'dev'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    if (!said.includes('up')) child.kill('SIGKILL');
    said += chunk.toString();
  });
  // The pipe closes when the last process that holds it is gone.
  await once(child, 'close');
  assert.equal(said, 'up\nleft alone\n');
});

test('under npx the program ends when the shell that npx put in between is gone', async (t) => {
  const launcher = installLauncher(
    t,
    `export const run = async () => { process.once('SIGTERM', () => { console.log('left alone'); process.exit(0); }); console.log('up'); setInterval(() => {}, 1e6); await new Promise(() => {}); };`,
  );
  const shell = spawn('sh', ['-c', `"${process.execPath}" "${launcher}" dev; exit $?`], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, npm_command: 'exec' },
  });
  let said = '';
  shell.stdout.on('data', (chunk: Buffer) => {
    if (!said.includes('up')) shell.kill('SIGTERM');
    said += chunk.toString();
  });
  await once(shell, 'close');
  assert.equal(said, 'up\nleft alone\n');
});

test('a reader that leaves early is no failure', (t) => {
  const launcher = installLauncher(
    t,
    `export const run = () => new Promise(() => setInterval(() => console.log('x'.repeat(1000)), 1));`,
  );
  const ended = spawnSync('sh', ['-c', '("$0" "$1"; echo "code $?" >&2) | head -1', process.execPath, launcher], {
    encoding: 'utf8',
  });
  assert.equal(ended.stderr, 'code 0\n');
});
