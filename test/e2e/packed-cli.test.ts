// The packed program, unpacked where npm would put it: under node_modules, where Node refuses TypeScript. Its
// dependencies are those of the checkout, so that no network is needed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { pack } from '#cli/tasks/pack.ts';
import { root } from '#cli/tasks/tools/processes.ts';
import { startDev } from '#test/setup/dev.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'packed-'));
const program = path.join(folder, 'node_modules/@platform-run/cli');

function platform(cwd: string, ...words: string[]): { status: number | null; stdout: string; stderr: string } {
  const env: NodeJS.ProcessEnv = { ...process.env, FS_PATH: path.join(folder, 'state') };
  delete env['NODE_TEST_CONTEXT'];
  return spawnSync(process.execPath, [path.join(program, 'cli/run.mjs'), ...words], { cwd, env, encoding: 'utf8' });
}

before(async () => {
  const tarballs = await pack(path.join(folder, 'dist'));
  mkdirSync(program, { recursive: true });
  const unpacked = spawnSync('tar', [
    'xzf',
    tarballs.find((file) => file.includes('platform-run-cli-'))!,
    '--strip-components=1',
    '-C',
    program,
  ]);
  assert.equal(unpacked.status, 0);
  for (const name of readdirSync(path.join(root, 'node_modules'))) {
    if (name.startsWith('.') || name === '@platform-run') continue;
    symlinkSync(path.join(root, 'node_modules', name), path.join(folder, 'node_modules', name));
  }
});

after(() => rmSync(folder, { recursive: true }));

test('help, init, types, build and deploy work from the packed program', () => {
  assert.match(platform(folder, '--help').stdout, /^platform \d+\.\d+\.\d+: /);
  const made = platform(folder, 'init', 'hono', 'app', '--packages', 'dist');
  assert.equal(made.status, 0, made.stderr);
  const app = path.join(folder, 'app');
  assert.ok(readdirSync(app).includes('tsconfig.json'));
  assert.ok(readdirSync(app).includes('.npmrc'));
  assert.equal(platform(app, 'types').stdout, 'Unchanged: env.d.ts\n');
  const built = platform(app, 'build', '--json');
  assert.equal(built.status, 0, built.stdout);
  assert.equal((JSON.parse(built.stdout) as { kind: string }).kind, 'dynamic');
  const deployed = platform(app, 'deploy', '--json');
  assert.equal(deployed.status, 0, deployed.stdout);
  const { project } = JSON.parse(deployed.stdout) as { project: string };
  assert.equal(project, 'app');
  assert.match(readFileSync(path.join(folder, 'state/routes/app.json'), 'utf8'), /"production": "d/);
});

test('dev of the packed program has the dashboard that was packed with it', async () => {
  const dev = await startDev(path.join(folder, 'app'), [], path.join(program, 'cli/run.mjs'));
  try {
    const [, url] = await dev.printed(/Dashboard (http:\S+)/);
    const page = await (await fetch(`${url}/`)).text();
    assert.match(page, /<meta name="platform-mode" content="dev"/);
    const [, script] = /<script type="module"[^>]* src="(\/assets\/[^"]+\.js)"/.exec(page)!;
    const loaded = await fetch(`${url}${script}`);
    assert.equal(loaded.status, 200);
    assert.match(loaded.headers.get('content-type')!, /javascript/);
    assert.equal(((await (await fetch(`${url}/api/config`)).json()) as { ready: boolean }).ready, true);
  } finally {
    await dev.close();
  }
});

test('no module that Node loads is TypeScript, and no test or task is packed', () => {
  const files = readdirSync(program, { recursive: true, encoding: 'utf8' });
  assert.ok(files.includes('core/names.js'));
  assert.ok(!files.includes('core/names.ts'));
  assert.equal(
    readFileSync(path.join(program, 'runtime/engine/main.js'), 'utf8'),
    "export * from '../../bundles/runtime-engine-main/main.js';\n",
  );
  assert.ok(files.includes('bundles/runtime-engine-main/main.js'));
  assert.deepEqual(
    files.filter((file) => /(?:^|\/)(?:test|tasks|node_modules)(?:\/|$)|\.test\./.test(file)),
    [],
  );
});
