// The packages as npm publishes them, to a registry on this machine (verdaccio, test/registry), and a new user's start
// from there: `npm create`, `npm install`, `npm run dev`. What is not ours comes from the registry that npm uses here.
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pack } from '#cli/tasks/pack.ts';
import { root } from '#cli/tasks/tools/processes.ts';
import { freePort } from '#test/setup/free-port.ts';
import { npmSettings } from '#test/setup/npm-settings.ts';

const verdaccio = path.join(root, 'test/registry/node_modules/verdaccio/bin/verdaccio');
const isThere = existsSync(verdaccio);
if (!isThere && process.env['REGISTRY_REQUIRED'] === '1')
  throw new Error('verdaccio is not installed in test/registry');

const skip = isThere ? false : 'run `npm ci` in test/registry first';
describe('published packages', { skip, timeout: 600_000 }, () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'published-'));
  const home = path.join(folder, 'home');
  let registry = '';
  let server: ChildProcess;
  let tarballs: string[] = [];

  // Nothing of this checkout, nor of the test runner; a home and a cache of their own.
  const environment = (): NodeJS.ProcessEnv => ({
    PATH: process.env['PATH'],
    HOME: home,
    NO_COLOR: '1',
    npm_config_cache: path.join(home, '.npm'),
    npm_config_registry: registry,
    npm_config_audit: 'false',
    npm_config_fund: 'false',
  });
  const npm = (cwd: string, ...words: string[]): string =>
    execFileSync('npm', words, {
      cwd,
      encoding: 'utf8',
      env: environment(),
      timeout: 240_000,
    });

  before(async () => {
    tarballs = await pack(path.join(folder, 'dist'));
    mkdirSync(home);
    const { npm_config_registry: upstream, npm_config_cafile: authorities } = npmSettings('registry', 'cafile');
    const port = await freePort();
    registry = `http://127.0.0.1:${port}/`;
    writeFileSync(
      path.join(folder, 'verdaccio.yaml'),
      JSON.stringify({
        storage: path.join(folder, 'storage'),
        uplinks: { upstream: { url: upstream, maxage: '60m', timeout: '60s' } },
        packages: {
          '@platform-run/*': { access: '$all', publish: '$all' },
          '**': { access: '$all', proxy: 'upstream' },
        },
        max_body_size: '200mb',
        log: { type: 'stdout', format: 'json', level: 'error' },
      }),
    );
    server = spawn(
      process.execPath,
      [verdaccio, '--config', path.join(folder, 'verdaccio.yaml'), '--listen', registry],
      {
        // It trusts what npm trusts.
        env: { ...(authorities !== undefined && { NODE_EXTRA_CA_CERTS: authorities }), ...process.env },
        stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      },
    );
    await once(server, 'message', { signal: AbortSignal.timeout(30_000) });
    // npm publishes for somebody only; this registry takes anybody.
    writeFileSync(path.join(home, '.npmrc'), `//127.0.0.1:${port}/:_authToken=anybody\n`);
    for (const tarball of tarballs) npm(folder, 'publish', tarball, '--provenance=false', '--silent');
  });

  after(async () => {
    server.kill();
    if (server.exitCode === null) await once(server, 'exit');
    rmSync(folder, { recursive: true });
  });

  test('the tarballs hold what runs: no tests, no tasks, no sources of the native half, one version', () => {
    const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
    assert.deepEqual(
      tarballs.map((file) => path.basename(file)),
      ['agent', 'astro', 'cli', 'create', 'dev', 'nitro', 'sveltekit', 'types', 'vite', 'worker'].map(
        (name) => `platform-run-${name}-${version}.tgz`,
      ),
    );
    for (const tarball of tarballs) {
      const files = execFileSync('tar', ['tzf', tarball], { encoding: 'utf8' }).split('\n');
      assert.deepEqual(
        files.filter((name) =>
          /\.test\.|\/test\/|\/bench\/|cli\/tasks\/|\.(?:cc|h)$|tsconfig\.emit|node_modules/.test(name),
        ),
        [],
        tarball,
      );
      for (const wanted of ['package/LICENSE', 'package/README.md', 'package/CHANGELOG.md'])
        assert.ok(files.includes(wanted), `${tarball} has no ${wanted}`);
    }
  });

  test('npm create, npm install and npm run dev of a new user answer a request', async () => {
    const created = npm(home, 'create', '@platform-run', 'my-app', '--yes', '--', '--template', 'hono');
    assert.match(
      created,
      /Created my-app from the template hono \(\d+ files\)\nNext: cd my-app, then npm install, then npm run dev/,
    );
    const app = path.join(home, 'my-app');
    npm(app, 'install');
    assert.match(npm(app, 'exec', '--', 'platform', '--version'), /^\d+\.\d+\.\d+\s*$/);
    const port = await freePort();
    const dev = spawn('npm', ['run', 'dev', '--', '--port', String(port), '--dashboard-port', '0'], {
      cwd: app,
      env: environment(),
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    try {
      await printed(dev, `http://localhost:${port}`);
      const response = await fetch(`http://localhost:${port}/`);
      assert.equal(response.status, 200);
      assert.equal(await response.text(), 'Hello from my-app\n');
    } finally {
      process.kill(-dev.pid!, 'SIGTERM');
      await once(dev, 'exit');
    }
  });

  test('npm create refuses a folder with something in it, and an unknown template', () => {
    mkdirSync(path.join(home, 'full'));
    writeFileSync(path.join(home, 'full/notes.txt'), '');
    assert.throws(
      () => npm(home, 'create', '@platform-run', 'full', '--yes'),
      /full is not empty \(it holds notes\.txt\)/,
    );
    assert.throws(
      () => npm(home, 'create', '@platform-run', 'x', '--yes', '--', '--template', 'vue'),
      /There is no template "vue"[\s\S]*Templates \(default: worker\)/,
    );
  });
});

/** Waits for a text; what comes later is read and dropped, so that the program goes on. */
function printed(child: ChildProcess, text: string): Promise<void> {
  let output = '';
  return new Promise((resolve, reject) => {
    child.stdout!.on('data', (chunk) => {
      output += String(chunk);
      if (output.includes(text)) resolve();
    });
    child.once('exit', () => reject(new Error(`It ended without printing ${text}:\n${output}`)));
  });
}
