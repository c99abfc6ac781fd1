// `platform start` with real builds, real routes and a stand-in for the supervisor. In a process of their own the
// examples are published by test/e2e/start.test.ts.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startPlatform, type StartDeps } from '#cli/commands/start.ts';
import { publishExamples } from '#cli/start/example-projects.ts';
import { takeLock } from '#artifacts/file-lock.ts';
import { recordingShell, type RecordingShell } from '../recording-shell.ts';

const supervisor = fileURLToPath(new URL('../../../fixtures/fake-supervisor.mjs', import.meta.url));

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

const withoutTime = (line: string): string => line.replace(/\(\d+\.\d s\)$/, '(TIME)');

/** Publishes in this process, whose start is paid already. */
const publish: StartDeps['publish'] = (examples, folder) => publishExamples(examples, folder, recordingShell(folder));
const deps = { supervisor, publish, verbose: false };

test('the examples are published and requested once; started again, they keep their deployments and sleep', async (t) => {
  const { cwd, examples } = folders(t, 'broken', 'hello', 'shop');
  const first = stoppingShell(cwd, 'Ctrl-C', { CONTROL: 'new', UWS: '1' });
  assert.equal(await startPlatform(first, { ...deps, examples }), 0);
  const routes = path.join(cwd, 'state/routes');
  assert.deepEqual(readdirSync(routes).toSorted(), ['broken.json', 'hello.json', 'shop.json']);
  const port = /port (\d+)$/.exec(first.output[4]!)?.[1];
  assert.deepEqual(first.output.slice(0, 10).map(withoutTime), [
    '3 examples published (TIME)',
    'Engines started (TIME)',
    'HTTP listener: uWebSockets.js',
    'API and dashboard started (TIME)',
    `The platform is running on port ${port}`,
    `  http://hello.localhost:${port}`,
    `  http://shop.localhost:${port}`,
    '  http://localhost:4502 is the API, documented at http://localhost:4502/docs',
    '  http://localhost:4503 is the dashboard',
    '  http://localhost:4504 is the documentation',
  ]);
  // One that does not answer well is named without its URL; the token of the first admin is shown by this start alone.
  assert.deepEqual(first.errors, ['  broken does not respond: HTTP 500']);
  assert.equal(first.output[10], 'First-run token, shown once: plt_first');
  assert.match(readFileSync(path.join(cwd, 'state/starts.txt'), 'utf8'), /--max-semi-space-size=2 AI=mock LOG=warn\n$/);
  const said = 'AI uses the mock provider: set AI_PROVIDER_<NAME>_KIND to use another';
  assert.ok(first.output.includes(said));

  const asked = path.join(cwd, 'state/asked.txt');
  assert.deepEqual(readFileSync(asked, 'utf8').split('\n').toSorted(), ['', 'broken', 'hello', 'shop']);
  rmSync(asked);

  const route = readFileSync(path.join(routes, 'hello.json'), 'utf8');
  const second = stoppingShell(cwd, 'Ctrl-C', { CONTROL: 'again', AI_PROVIDER_OPENAI_KEY: 'sk-1' });
  await startPlatform(second, { ...deps, examples });
  assert.equal(readFileSync(path.join(routes, 'hello.json'), 'utf8'), route);
  assert.equal(withoutTime(second.output[0]!), '3 examples unchanged (TIME)');
  assert.ok(second.output.includes('  http://localhost:4503 is the dashboard'));
  // A restart wakes no worker.
  assert.equal(existsSync(asked), false);
  assert.ok(!second.output.some((line) => line.includes('plt_first') || line === said));
  assert.match(readFileSync(path.join(cwd, 'state/starts.txt'), 'utf8'), / AI=set LOG=warn\n$/);
});

test('a start prints the URLs of twenty projects, and how many more there are', async (t) => {
  const { cwd } = folders(t);
  const routes = path.join(cwd, 'state/routes');
  mkdirSync(routes);
  for (let at = 10; at < 33; at++) {
    const deployments = {
      d0123456789ab: {
        id: 'd0123456789ab',
        artifact: 'a'.repeat(64),
        branch: 'main',
        createdAt: '2026-01-01T00:00:00.000Z',
      },
    };
    const record = {
      version: 1,
      project: `app${at}`,
      plan: 'free',
      vars: {},
      domains: [],
      production: 'd0123456789ab',
    };
    writeFileSync(path.join(routes, `app${at}.json`), JSON.stringify({ ...record, branches: {}, deployments }));
  }
  const shell = stoppingShell(cwd, 'Ctrl-C');
  await startPlatform(shell, { ...deps, examples: null });
  assert.equal(shell.output.filter((line) => line.startsWith('  http://app')).length, 20);
  assert.ok(shell.output.includes('  and 3 more'));
  assert.equal(existsSync(path.join(cwd, 'state/asked.txt')), false);
});

for (const [asked, verbose, env, level] of [
  ['-v', true, {}, 'unset'],
  ['LOG_LEVEL', false, { LOG_LEVEL: 'debug' }, 'debug'],
  ['LOG_REQUESTS', false, { LOG_REQUESTS: 'all' }, 'unset'],
] as const) {
  test(`${asked} shows the log of the platform`, async (t) => {
    const { cwd } = folders(t);
    await startPlatform(stoppingShell(cwd, 'Ctrl-C', env), { ...deps, examples: null, verbose });
    assert.ok(readFileSync(path.join(cwd, 'state/starts.txt'), 'utf8').endsWith(` LOG=${level}\n`));
  });
}

test('a second one on the same data folder is refused', async (t) => {
  const { cwd } = folders(t);
  const lock = takeLock(path.join(cwd, 'state/locks/start'));
  t.after(() => lock?.release());
  await assert.rejects(startPlatform(stoppingShell(cwd, 'Ctrl-C'), { ...deps, examples: null }), {
    message: `The platform is already running on ${path.join(cwd, 'state')}`,
    exitCode: 1,
  });
});

test('a supervisor that ends by itself ends the command, and frees the data folder', async (t) => {
  const { cwd } = folders(t);
  const failing = startPlatform(stoppingShell(cwd, 'Ctrl-C', { FAIL: '1' }), { ...deps, examples: null });
  await assert.rejects(failing, { message: 'The handler exited (exit code 7)' });
  const lock = takeLock(path.join(cwd, 'state/locks/start'));
  assert.ok(lock);
  lock.release();
});

for (const [variables, message] of [
  [{ HANDLER_PROCESSES: 'many' }, /^HANDLER_PROCESSES must be .*"many"/],
  [{ LOG_LEVEL: 'loud' }, /^LOG_LEVEL must be one of .*"loud"/],
  [{ REQUEST_BODY_MAX_BYTES: 'x', BUILD_ARTIFACT_MAX_BYTES: '-1' }, /BUILD_ARTIFACT_MAX_BYTES/],
  [{ AUTH_SECRET: 'short' }, /^AUTH_SECRET is weak/],
] as const) {
  test(`wrong settings are told before an older data folder is backed up: ${Object.keys(variables).at(-1)}`, async (t) => {
    const { cwd } = folders(t);
    // As a version without a record left it.
    mkdirSync(path.join(cwd, 'state/postgres'));
    const shell = stoppingShell(cwd, 'Ctrl-C', variables);
    await assert.rejects(startPlatform(shell, { ...deps, examples: null }), (error: Error) => {
      assert.match(error.message, message);
      return true;
    });
    assert.deepEqual(shell.output, []);
    assert.deepEqual(readdirSync(path.join(cwd, 'state')).toSorted(), ['locks', 'postgres']);
  });
}
