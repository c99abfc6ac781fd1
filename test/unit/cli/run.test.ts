// The launcher: which Node it takes, with which flags, what it passes on, and what it keeps. What becomes of a program
// when a signal comes or its parents go: test/dev/launcher.test.ts.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { nodeFlags } from '#core/node-flags.mjs';
import { installLauncher } from '#test/setup/launcher.ts';

/** Says what it was started with, and what Node would warn of. */
const TELLING = `import { text } from 'node:stream/consumers';
  export const run = async (words) => {
    await import('node:sqlite');
    process.emitWarning('mind this');
    const input = words[0] === 'dev' ? await text(process.stdin) : '';
    console.log(JSON.stringify([process.pid, process.execArgv, words, input, process.env.NODE_COMPILE_CACHE ?? null]));
    return 5;
  };`;

/** Where commands keep what Node compiled; nothing else says so. */
function environment(cache: string): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE: _, ...others } = process.env;
  return { ...others, PLATFORM_CACHE_DIR: cache, PATH: `${path.dirname(process.execPath)}:${process.env['PATH']}` };
}

/** Of other warnings people hear, not of modules of Node that the program uses. */
function assertWarnings(stderr: string): void {
  assert.match(stderr, /mind this/);
  assert.doesNotMatch(stderr, /ExperimentalWarning/);
}

test('what runs isolates takes the place of the launcher, with every flag, its words, its input and its exit code', (t) => {
  const launcher = installLauncher(t, TELLING);
  const cache = path.join(path.dirname(launcher), 'cache');
  const words = ['dev', '--port', '1'];
  const given = { input: 'typed', encoding: 'utf8', env: environment(cache) } as const;
  const ended = spawnSync(process.execPath, [launcher, ...words], given);
  assert.equal(ended.status, 5);
  assert.deepEqual(JSON.parse(ended.stdout), [ended.pid, [...nodeFlags], words, 'typed', null]);
  assertWarnings(ended.stderr);
  // What Node compiled is kept for its next start, and not for what it runs.
  assert.ok(readdirSync(path.join(cache, 'node')).length > 0);
});

test('a command that runs no isolate has no flags, and --env-file is a flag of its own, not of Node', (t) => {
  const launcher = installLauncher(t, TELLING);
  const cache = path.join(path.dirname(launcher), 'cache');
  const words = ['deploy', '--env-file', 'nope.env'];
  chmodSync(launcher, 0o755);
  const ended = spawnSync(launcher, words, { encoding: 'utf8', env: environment(cache) });
  assert.deepEqual(JSON.parse(ended.stdout), [ended.pid, [], words, '', null]);
  assertWarnings(ended.stderr);
  assert.ok(readdirSync(path.join(cache, 'node')).length > 0);
});

test('started with the flags already, it starts no second process, and keeps nothing where others can write', (t) => {
  const launcher = installLauncher(t, TELLING);
  const cache = path.join(path.dirname(launcher), 'cache');
  mkdirSync(cache);
  chmodSync(cache, 0o777);
  const given = { input: '', encoding: 'utf8', env: environment(cache) } as const;
  const ended = spawnSync(process.execPath, [...nodeFlags, launcher, 'dev'], given);
  assert.equal((JSON.parse(ended.stdout) as number[])[0], ended.pid);
  assert.deepEqual(readdirSync(cache), []);
});

test('a task that does not exist is named', (t) => {
  const launcher = installLauncher(t, TELLING);
  const ended = spawnSync(process.execPath, [...nodeFlags, launcher, ':nothing'], { encoding: 'utf8' });
  assert.equal(ended.status, 2);
  assert.match(ended.stderr, /there is no task ":nothing"/);
});

test('the launcher itself needs nothing newer than Node 20', () => {
  const source = readFileSync(fileURLToPath(import.meta.resolve('#cli/run.mjs')), 'utf8');
  assert.doesNotMatch(source, /import\.meta\.(?:dirname|filename|main)|node:sqlite/);
  assert.match(source, /process\.execve !== undefined/);
});
