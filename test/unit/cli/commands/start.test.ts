// `platform start` with real builds, real routes and a stand-in for the supervisor.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startPlatform } from '#cli/commands/start.ts';
import { takeLock } from '#deployments/file-lock.ts';
import { recordingShell, type RecordingShell } from '../shell-double.ts';

const supervisor = fileURLToPath(new URL('../../../fixtures/supervisor-double.mjs', import.meta.url));

function folders(t: TestContext, ...examples: string[]): { cwd: string; examples: string } {
  const cwd = mkdtempSync(path.join(tmpdir(), 'start-'));
  t.after(() => rmSync(cwd, { recursive: true }));
  mkdirSync(path.join(cwd, 'state'));
  for (const name of examples) {
    mkdirSync(path.join(cwd, 'examples', name, 'src'), { recursive: true });
    writeFileSync(path.join(cwd, 'examples', name, 'platform.yaml'), 'kind: worker\n');
    writeFileSync(
      path.join(cwd, 'examples', name, 'src/index.ts'),
      `export default { fetch: () => new Response('${name}') };\n`,
    );
  }
  return { cwd, examples: path.join(cwd, 'examples') };
}

/** A shell in which the wanted line stops the command. */
function stoppingShell(cwd: string, line: string, env: Record<string, string> = {}): RecordingShell {
  const shell = recordingShell(cwd, {
    ...process.env,
    FS_PATH: 'state',
    HANDLER_PORT: '0',
    HANDLER_DOMAIN: '',
    ...env,
  } as Record<string, string>);
  return {
    ...shell,
    out(text) {
      shell.out(text);
      if (text.includes(line)) shell.stop();
    },
  };
}

test('the examples are published, served and told once they answer', async (t) => {
  const { cwd, examples } = folders(t, 'hello', 'shop');
  const shell = stoppingShell(cwd, 'Ctrl-C');
  assert.equal(await startPlatform(shell, { supervisor, examples }), 0);
  const [title, hello, shop] = shell.output;
  assert.deepEqual(readdirSync(path.join(cwd, 'state/routes')).toSorted(), ['hello.json', 'shop.json']);
  const port = /port (\d+)$/.exec(title!)?.[1];
  assert.deepEqual([hello, shop], [`  http://hello.localhost:${port}`, `  http://shop.localhost:${port}`]);
  assert.match(readFileSync(path.join(cwd, 'state/starts.txt'), 'utf8'), /--no-node-snapshot/);
});

test('started again, unchanged examples keep their deployment', async (t) => {
  const { cwd, examples } = folders(t, 'hello');
  await startPlatform(stoppingShell(cwd, 'Ctrl-C'), { supervisor, examples });
  const route = readFileSync(path.join(cwd, 'state/routes/hello.json'), 'utf8');
  await startPlatform(stoppingShell(cwd, 'Ctrl-C'), { supervisor, examples });
  assert.equal(readFileSync(path.join(cwd, 'state/routes/hello.json'), 'utf8'), route);
});

test('a project that does not answer well is named without its URL', async (t) => {
  const { cwd, examples } = folders(t, 'broken');
  const shell = stoppingShell(cwd, 'Ctrl-C');
  await startPlatform(shell, { supervisor, examples });
  assert.ok(!shell.output.some((line) => line.includes('http://')));
  assert.deepEqual(shell.errors, ['  broken does not answer: HTTP 500']);
});

test('a second one on the same data folder is refused', async (t) => {
  const { cwd } = folders(t);
  const lock = takeLock(path.join(cwd, 'state/locks/start'));
  t.after(() => lock?.release());
  await assert.rejects(startPlatform(stoppingShell(cwd, 'Ctrl-C'), { supervisor, examples: null }), {
    message: `The platform is already running on ${path.join(cwd, 'state')}`,
    exitCode: 1,
  });
});

test('a supervisor that ends by itself ends the command, and frees the data folder', async (t) => {
  const { cwd } = folders(t);
  const failing = startPlatform(stoppingShell(cwd, 'Ctrl-C', { FAIL: '1' }), { supervisor, examples: null });
  await assert.rejects(failing, { message: 'The handler ended by itself (exit code 7)' });
  const lock = takeLock(path.join(cwd, 'state/locks/start'));
  assert.ok(lock);
  lock.release();
});

test('the token of the first admin is shown by the start that made it, and by no other', async (t) => {
  const { cwd } = folders(t);
  const first = stoppingShell(cwd, 'Ctrl-C', { CONTROL: 'new' });
  await startPlatform(first, { supervisor, examples: null });
  assert.deepEqual(first.output.slice(2, 6), [
    '  http://localhost:4502 is the API, http://localhost:4502/docs its description',
    '  http://localhost:4503 is the dashboard, where people sign in',
    '  http://localhost:4504 is the documentation',
    'Token of the first admin, shown once: plt_first',
  ]);
  const second = stoppingShell(cwd, 'Ctrl-C', { CONTROL: 'again' });
  await startPlatform(second, { supervisor, examples: null });
  assert.ok(second.output.includes('  http://localhost:4503 is the dashboard, where people sign in'));
  assert.ok(!second.output.some((line) => line.includes('plt_first')));
});
