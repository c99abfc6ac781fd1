// `platform build` and `platform deploy` over a real project folder.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { run } from '#cli/main.ts';
import type { RouteRecord } from '#core/manifest.ts';
import { recordingShell } from '../recording-shell.ts';

function project(t: TestContext, files: Record<string, string> = {}): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'deploy-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const all: Record<string, string> = {
    'platform.yaml': 'kind: worker\nname: shop\n',
    'src/index.ts': "export default { fetch: () => new Response('hi') };\n",
    ...files,
  };
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

test('build writes an artifact and says what it holds; the same source gives the same id', async (t) => {
  const cwd = project(t, { 'public/a.txt': 'A' });
  const shell = recordingShell(cwd);
  assert.equal(await run(['build', '--json'], shell), 0, shell.output.join('\n'));
  const built = JSON.parse(shell.output[0]!) as {
    id: string;
    folder: string;
    kind: string;
    files: number;
    bytes: number;
  };
  assert.match(built.id, /^[0-9a-f]{64}$/);
  assert.equal(built.kind, 'dynamic');
  assert.equal(built.files, 4);
  assert.equal(built.folder, path.join(cwd, '.platform/artifacts', built.id));
  assert.ok(existsSync(path.join(built.folder, 'worker.js')));
  const again = recordingShell(cwd);
  assert.equal(await run(['build', '-o', 'elsewhere'], again), 0);
  assert.match(again.output[0]!, new RegExp(`^Built ${built.id.slice(0, 12)}: 4 files, [\\d.]+ kB, in \\d+ ms$`));
});

test('a syntax error is told with file, line and code frame', async (t) => {
  const cwd = project(t, { 'src/index.ts': 'export default {\n  fetch() { return new Response("x" }\n};\n' });
  const shell = recordingShell(cwd);
  assert.equal(await run(['build'], shell), 1);
  assert.match(
    shell.errors.join('\n'),
    /^error src\/index\.ts:2:\d+: .*\n[^]*> 2 \|   fetch\(\) \{ return new Response\("x" \}/,
  );
});

test('every error of the configuration is told with its place', async (t) => {
  const cwd = project(t, { 'platform.yaml': 'kind: worker\nout: /abs\nbase: ../x\n' });
  const shell = recordingShell(cwd);
  assert.equal(await run(['deploy'], shell), 1);
  assert.match(
    shell.errors[0]!,
    /^error platform\.yaml:2:6: Out path must be relative, not absolute\n[^]*> 2 \| out: \/abs/,
  );
  assert.match(shell.errors[1]!, /^error platform\.yaml:3:7: Base path cannot contain '\.\.'/);
});

test('deploy publishes to FS_PATH, also for a platform that is started later, and says that none runs', async (t) => {
  const cwd = project(t, { 'prod.env': 'GREETING="hello you"\n' });
  const env = { FS_PATH: 'state', HANDLER_DOMAIN: 'apps.example.com', HANDLER_PORT: '80', PLATFORM_HOME: cwd };
  const shell = recordingShell(cwd, env);
  assert.equal(await run(['deploy', '--env-file', 'prod.env', '--json'], shell), 0, shell.output.join('\n'));
  const told = JSON.parse(shell.output[0]!) as {
    project: string;
    deployment: string;
    artifact: string;
    production: boolean;
    running: boolean;
    urls: string[];
  };
  assert.equal(told.running, false);
  assert.deepEqual(told.urls, [
    'http://shop.apps.example.com',
    'http://shop--main.apps.example.com',
    `http://shop--${told.deployment}.apps.example.com`,
  ]);
  const route = JSON.parse(readFileSync(path.join(cwd, 'state/routes/shop.json'), 'utf8')) as RouteRecord;
  assert.equal(route.production, told.deployment);
  assert.deepEqual(route.vars, { GREETING: 'hello you' });
  assert.ok(existsSync(path.join(cwd, 'state/artifacts', told.artifact, 'manifest.json')));
});

test('a branch gets its own URL and leaves production alone until --prod', async (t) => {
  const cwd = project(t);
  const env = { FS_PATH: 'state', PLATFORM_HOME: cwd };
  const deploy = async (...words: string[]): Promise<{ production: boolean; urls: string[] }> => {
    const shell = recordingShell(cwd, env);
    assert.equal(await run(['deploy', '--json', ...words], shell), 0, shell.output.join('\n'));
    return JSON.parse(shell.output[0]!) as { production: boolean; urls: string[] };
  };
  await deploy();
  const preview = await deploy('--branch', 'login');
  assert.equal(preview.production, false);
  assert.equal(preview.urls[0], 'http://shop--login.localhost:4001');
  assert.equal((await deploy('--branch', 'login', '--prod')).urls[0], 'http://shop.localhost:4001');
});

test('a name that cannot be a host is refused', async (t) => {
  const cwd = project(t);
  const shell = recordingShell(cwd, { FS_PATH: 'state', PLATFORM_HOME: cwd });
  assert.equal(await run(['deploy', '--name', 'My Shop'], shell), 1);
  assert.match(shell.errors[0]!, /^error "My Shop" is not a valid project name\nUse lower-case letters/);
});

test('without a platform that runs, and without FS_PATH, nothing is written and it says what to do', async (t) => {
  const cwd = project(t);
  const shell = recordingShell(cwd, { PLATFORM_HOME: path.join(cwd, 'home') });
  assert.equal(await run(['deploy'], shell), 1);
  assert.equal(
    shell.errors[0],
    'error No platform is running on this machine\nStart a platform: `npm start` in the clone of the platform. To use a platform that starts later, set FS_PATH=<data folder>.',
  );
  assert.ok(!existsSync(path.join(cwd, '.platform')));
});

test("the branch is Git's current one: the default branch is production, another one a preview; without a branch it asks for one", async (t) => {
  const cwd = project(t, {
    '.git/HEAD': 'ref: refs/heads/trunk\n',
    '.git/refs/remotes/origin/HEAD': 'ref: refs/remotes/origin/trunk\n',
  });
  const env = { FS_PATH: 'state', PLATFORM_HOME: cwd };
  const deploy = async (): Promise<{ branch: string; production: boolean }> => {
    const shell = recordingShell(cwd, env);
    assert.equal(await run(['deploy', '--json'], shell), 0, shell.output.join('\n'));
    return JSON.parse(shell.output[0]!) as { branch: string; production: boolean };
  };
  const first = await deploy();
  assert.deepEqual([first.branch, first.production], ['trunk', true]);
  writeFileSync(path.join(cwd, '.git/HEAD'), 'ref: refs/heads/feature/login\n');
  const second = await deploy();
  assert.deepEqual([second.branch, second.production], ['feature/login', false]);
  writeFileSync(path.join(cwd, '.git/HEAD'), `${'a'.repeat(40)}\n`);
  const shell = recordingShell(cwd, env);
  assert.equal(await run(['deploy'], shell), 1);
  assert.match(
    shell.errors[0]!,
    /No branch is checked out \(detached HEAD\)\nPass the branch to deploy as: --branch <name>/,
  );
});

test('where Git does not tell its default branch, the first that is deployed is production, and no other replaces it', async (t) => {
  const cwd = project(t, { '.git/HEAD': 'ref: refs/heads/trunk\n' });
  const deploy = async (): Promise<boolean> => {
    const shell = recordingShell(cwd, { FS_PATH: 'state', PLATFORM_HOME: cwd });
    assert.equal(await run(['deploy', '--json'], shell), 0, shell.output.join('\n'));
    return (JSON.parse(shell.output[0]!) as { production: boolean }).production;
  };
  assert.equal(await deploy(), true);
  writeFileSync(path.join(cwd, '.git/HEAD'), 'ref: refs/heads/feature\n');
  assert.equal(await deploy(), false);
  writeFileSync(path.join(cwd, '.git/HEAD'), 'ref: refs/heads/trunk\n');
  assert.equal(await deploy(), true);
});

test('--env-file names the file that is not there, and the variables of .env that are not set are told', async (t) => {
  const cwd = project(t, { '.env': 'GREETING=hi\nSECRET=x\n' });
  const env = { FS_PATH: 'state', PLATFORM_HOME: cwd };
  const missing = recordingShell(cwd, env);
  assert.equal(await run(['deploy', '--env-file', 'nope.env'], missing), 2);
  assert.match(
    missing.errors[0]!,
    /^error There is no file .*nope\.env\n--env-file takes a file with NAME=value lines/,
  );
  const told = recordingShell(cwd, env);
  assert.equal(await run(['deploy'], told), 0);
  assert.match(told.errors.join('\n'), /In \.env but not set for production: GREETING, SECRET\./);
  const set = recordingShell(cwd, env);
  assert.equal(await run(['deploy', '--env-file', '.env'], set), 0);
  assert.doesNotMatch(set.errors.join('\n'), /not set/);
});
