// Dispatch of the program: help, version, wrong calls, exit codes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { commands } from '#cli/commands/tree.ts';
import { run } from '#cli/main.ts';
import { recordingShell } from './recording-shell.ts';

async function called(...words: string[]): Promise<{ code: number; out: string; err: string }> {
  const shell = recordingShell('/');
  const code = await run(words, shell);
  return { code, out: shell.output.join('\n'), err: shell.errors.join('\n') };
}

test('without a command, and with --help, every command is listed once, by what people do', async () => {
  const { code, out } = await called('--help');
  assert.equal(code, 0);
  // After name and usage, before the flags.
  const parts = out.split('\n\n').slice(2, -1);
  const listed = parts.map((part) => part.split('\n').map((line) => line.trim().split(' ')[0]));
  assert.deepEqual(
    parts.map((part) => part.split('\n')[0]),
    ['Start a project', 'Deploy', 'Observe', 'Data', 'Organization', 'Operate a platform'],
  );
  const names = listed.flatMap(([, ...below]) => below);
  assert.deepEqual(names.toSorted(), Object.keys(commands).toSorted());
  assert.deepEqual(listed[1], ['Deploy', 'deploy', 'deployments', 'promote', 'rollback', 'env', 'domains']);
  assert.equal((await called()).out, out);
});

test('--version prints the version of the manifest', async () => {
  assert.deepEqual(await called('--version'), { code: 0, out: '0.2.0', err: '' });
});

test('--help after a command describes its flags; -h of dev is the host', async () => {
  const { code, out } = await called('dev', '--help');
  assert.equal(code, 0);
  assert.match(out, /-p, --port=<n>/);
  assert.match(out, /-h, --host=<name>/);
  assert.match(out, /--no-watch/);
});

test('an unknown command suggests the nearest one and exits with 2', async () => {
  assert.deepEqual(await called('biuld'), {
    code: 2,
    out: '',
    err: 'error Unknown command biuld. Did you mean build?\nRun `platform --help` to see all commands.',
  });
});

test('an unknown flag suggests the nearest one and exits with 2', async () => {
  assert.deepEqual(await called('dev', '--prot', '1'), {
    code: 2,
    out: '',
    err: 'error Unknown flag --prot. Did you mean --port?\nRun `platform dev --help` for usage.',
  });
  assert.equal(
    (await called('dev', '--nowatch')).err.split('\n')[0],
    'error Unknown flag --nowatch. Did you mean --no-watch?',
  );
  assert.equal((await called('dev', '-x')).err.split('\n')[0], 'error Unknown flag -x');
});

test('a flag without its value, a surplus word and a port that is none are wrong calls', async () => {
  assert.equal((await called('dev', '--port')).err.split('\n')[0], 'error --port needs a value');
  assert.equal((await called('dev', '--port', '--no-watch')).err.split('\n')[0], 'error --port needs a value');
  assert.equal((await called('init', 'worker', 'a', 'b')).err.split('\n')[0], 'error Unexpected argument "b"');
  const { code, err } = await called('deploy', '--name');
  assert.equal(code, 2);
  assert.equal(err.split('\n')[0], 'error --name needs a value');
});

test('what platform vite does not know is for Vite, which has to be there', async () => {
  assert.deepEqual(await called('vite', 'build', '--mode', 'x'), {
    code: 1,
    out: '',
    err: 'error Vite is not installed in /\nInstall it: npm install --save-dev vite @platform-run/vite',
  });
});

test('with --json a failure is JSON on standard output', async () => {
  const { code, out, err } = await called('build', '/nowhere/at/all', '--json');
  assert.equal(code, 1);
  assert.deepEqual(JSON.parse(out), { errors: [{ message: 'Folder /nowhere/at/all does not exist' }] });
  assert.equal(err, '');
});

test('the launcher passes the exit code through, and prints no colour where there is no terminal', () => {
  const launcher = fileURLToPath(import.meta.resolve('#cli/run.mjs'));
  const ended = spawnSync(process.execPath, [launcher, 'biuld'], { encoding: 'utf8' });
  assert.equal(ended.status, 2);
  assert.equal(ended.stdout, '');
  assert.equal(
    ended.stderr,
    'error Unknown command biuld. Did you mean build?\nRun `platform --help` to see all commands.\n',
  );
});
