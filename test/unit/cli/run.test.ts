// The launcher: which Node it takes, what it passes on, and what it says when there is none.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { nodeFlags } from '#core/node-flags.mjs';

/** The launcher in an installation of its own, with a main that does what the test wants. */
function installed(t: TestContext, main: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'launcher-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const name of ['cli', 'core']) mkdirSync(path.join(folder, name));
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module","imports":{"#core/*":"./core/*"}}');
  for (const name of ['cli/run.mjs', 'core/node-flags.mjs'])
    copyFileSync(fileURLToPath(import.meta.resolve(`#${name}`)), path.join(folder, name));
  writeFileSync(path.join(folder, 'cli/main.js'), main);
  return path.join(folder, 'cli/run.mjs');
}

test('what runs isolates has every flag, its words, its input and its exit code', (t) => {
  const launcher = installed(
    t,
    `import { text } from 'node:stream/consumers';
     export const run = async (words) => { console.log(JSON.stringify([process.execArgv, words, await text(process.stdin)])); return 5; };`,
  );
  const ended = spawnSync(process.execPath, [launcher, 'dev', '--port', '1'], { input: 'typed', encoding: 'utf8' });
  assert.equal(ended.status, 5);
  assert.deepEqual(JSON.parse(ended.stdout), [[...nodeFlags], ['dev', '--port', '1'], 'typed']);
});

test('a command that runs no isolate has no flags, and starts no second process', (t) => {
  const launcher = installed(
    t,
    `export const run = (words) => { console.log(JSON.stringify([process.pid, process.execArgv, words])); return 0; };`,
  );
  const ended = spawnSync(process.execPath, [launcher, 'deploy', '--prod'], { encoding: 'utf8' });
  assert.deepEqual(JSON.parse(ended.stdout), [ended.pid, [], ['deploy', '--prod']]);
});

test('nobody hears that a module of Node which the program uses is experimental, but of other warnings', (t) => {
  const launcher = installed(
    t,
    `export const run = async () => { await import('node:sqlite'); process.emitWarning('mind this'); return 0; };`,
  );
  for (const word of ['deploy', 'dev']) {
    const { stderr } = spawnSync(process.execPath, [launcher, word], { encoding: 'utf8' });
    assert.match(stderr, /mind this/);
    assert.doesNotMatch(stderr, /ExperimentalWarning/);
  }
});

test('--env-file is a flag of the command, not of Node', (t) => {
  const launcher = installed(t, `export const run = (words) => { console.log(JSON.stringify(words)); return 0; };`);
  chmodSync(launcher, 0o755);
  const env = { ...process.env, PATH: `${path.dirname(process.execPath)}:${process.env['PATH']}` };
  const ended = spawnSync(launcher, ['deploy', '--env-file', 'nope.env'], { encoding: 'utf8', env });
  assert.deepEqual([ended.stdout, ended.stderr], ['["deploy","--env-file","nope.env"]\n', '']);
});

test('started with the flags already, it starts no second process', (t) => {
  const launcher = installed(t, `export const run = () => { console.log(process.pid); return 0; };`);
  const ended = spawnSync(process.execPath, [...nodeFlags, launcher, 'dev'], { encoding: 'utf8' });
  assert.equal(ended.stdout.trim(), String(ended.pid));
});

/** As an older Node, which cannot replace itself by another program, starts it. */
const withoutExecve = ['--import', 'data:text/javascript,delete process.execve'];

test('the program takes the place of the launcher where Node can', async (t) => {
  const launcher = installed(t, `export const run = () => { console.log(process.pid); return 0; };`);
  const ended = spawnSync(process.execPath, [launcher, 'dev'], { encoding: 'utf8' });
  assert.equal(ended.stdout.trim(), String(ended.pid));
});

test('a signal reaches the program, and a program ended by one is reported as shells do', async (t) => {
  const launcher = installed(
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
  const launcher = installed(
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
  const launcher = installed(
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
  const launcher = installed(
    t,
    `export const run = () => new Promise(() => setInterval(() => console.log('x'.repeat(1000)), 1));`,
  );
  const ended = spawnSync('sh', ['-c', '("$0" "$1"; echo "code $?" >&2) | head -1', process.execPath, launcher], {
    encoding: 'utf8',
  });
  assert.equal(ended.stderr, 'code 0\n');
});

test('the launcher itself needs nothing newer than Node 20', () => {
  const source = readFileSync(fileURLToPath(import.meta.resolve('#cli/run.mjs')), 'utf8');
  assert.doesNotMatch(source, /import\.meta\.(?:dirname|filename|main)|node:sqlite/);
  assert.match(source, /process\.execve !== undefined/);
});

test('commands keep what Node compiled for their next start, where nobody else can write, and not for what they run', (t) => {
  const launcher = installed(t, `export const run = () => { console.log(process.env.NODE_COMPILE_CACHE); return 0; };`);
  const cache = path.join(path.dirname(launcher), 'cache');
  const env: NodeJS.ProcessEnv = { ...process.env, PLATFORM_CACHE_DIR: cache };
  delete env['NODE_COMPILE_CACHE'];
  const start = (word: string): string =>
    spawnSync(process.execPath, [launcher, word], { encoding: 'utf8', env }).stdout;
  for (const word of ['dev', 'vite', 'deploy']) {
    assert.equal(start(word), 'undefined\n');
    assert.ok(readdirSync(path.join(cache, 'node')).length > 0, word);
    rmSync(cache, { recursive: true });
  }
  mkdirSync(cache);
  chmodSync(cache, 0o777);
  start('dev');
  assert.deepEqual(readdirSync(cache), []);
});
