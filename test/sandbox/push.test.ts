// A whole platform whose builds run in sandboxes: what is pushed with Git is built there, released and visited, twice;
// a hostile push ends with a log and nothing else; and the builder is killed at random moments of builds, as often as
// DURABILITY_ROUNDS says, without a lost push or anything left behind.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { BUILD_IMAGE, haveBuildImage } from '#test/setup/build-image.ts';
import { freePort } from '#test/setup/free-port.ts';
import { engineName, machineThings, socketPath } from '#test/setup/sandbox-containers.ts';
import { SANDBOX_IMAGE } from '#test/setup/sandbox-engine.ts';
import { startSteadyLoad } from '#test/setup/steady-load.ts';
import { eventually, startWholePlatform, type Json, type WholePlatform } from '#test/setup/whole-platform.ts';

const rounds = Number(process.env['DURABILITY_ROUNDS'] ?? 2);
const TOKEN = 'tokentokentokentokentokentokentoken';

/** Where npm fetches packages on this machine. */
async function registry(): Promise<string> {
  return (await promisify(execFile)('npm', ['config', 'get', 'registry'])).stdout.trim();
}

/** A page that a bundler of the registry makes. */
const site = (title: string): Record<string, string> => ({
  'package.json': JSON.stringify({
    name: 'shop',
    private: true,
    scripts: { build: 'node --version && vite build' },
    devDependencies: { vite: '8.2.6' },
    dependencies: { nanoid: '5.1.5' },
  }),
  '.nvmrc': '22\n',
  'index.html': `<!doctype html><title>${title}</title><script type="module" src="/main.js"></script>`,
  'main.js': `import { customAlphabet } from 'nanoid'; document.body.append(customAlphabet('a', 3)());`,
});

/** The image of builds is made once; then there are five builds, and one or two a round. */
const timeout = 600_000 + rounds * 60_000;

describe(`pushes to a platform that builds in sandboxes of ${engineName}`, { timeout }, () => {
  let things: Awaited<ReturnType<typeof machineThings>>;
  let platform: WholePlatform;

  before(async () => {
    await haveBuildImage(socketPath);
    things = await machineThings();
    const port = await freePort();
    platform = await startWholePlatform({
      BUILD_EXECUTOR: 'sandbox',
      BUILD_SANDBOX_IMAGE: BUILD_IMAGE,
      BUILD_SANDBOX_MEMORY_MB: '2048',
      BUILD_LEASE_MS: '3000',
      BUILD_POLL_MS: '200',
      DOCKER_HOST: `unix://${socketPath}`,
      SANDBOX_PROVIDER: 'container',
      SANDBOX_URL: `http://127.0.0.1:${port}`,
      SANDBOX_PORT: String(port),
      SANDBOX_AUTH_TOKEN: TOKEN,
      SANDBOX_NETWORK_ISOLATION: 'true',
      SANDBOX_DEFAULT_IMAGE: SANDBOX_IMAGE,
      SANDBOX_DISK_MB: '1024',
      SANDBOX_ANSWER_MS: '60000',
      SANDBOX_SWEEP_MS: '500',
      // The registry may stand at an address that is none of the internet's: it is reached by name, and nothing else.
      SANDBOX_EGRESS_HOSTS: new URL(await registry()).hostname,
      WORKER_EGRESS_ALLOW: 'private',
    });
  });
  after(async () => {
    await platform?.close();
    assert.deepEqual(await machineThings(), things);
  });

  /** Commits files in a clone of a project, which the first push makes, and pushes them. @returns the commit. */
  async function push(project: string, files: Readonly<Record<string, string>>): Promise<string> {
    const clone = path.join(platform.folder, project);
    if (!existsSync(clone)) {
      mkdirSync(clone);
      await platform.git(clone, 'init', '-q', '-b', 'main');
    }
    for (const [name, text] of Object.entries(files)) writeFileSync(path.join(clone, name), text);
    await platform.git(clone, 'add', '.');
    await platform.git(clone, 'commit', '-q', '-m', 'Change');
    const remote = `http://x:${platform.token}@127.0.0.1:${platform.ports.api}/git/${project}.git`;
    // A push whose build fails is stored, and exits with 1.
    await platform.git(clone, 'push', '-q', remote, 'main').catch(() => undefined);
    return (await platform.git(clone, 'rev-parse', 'HEAD')).stdout.trim();
  }

  /** The deployments of a commit. */
  async function deploymentsOf(commit: string): Promise<Json[]> {
    const { items } = await platform.call('GET', '/deployments?limit=100');
    return items.filter((one: Json) => one.commitSha === commit);
  }

  async function ended(commit: string): Promise<{ deployment: Json; lines: Json[]; log: string }> {
    const [{ id }] = await eventually(`A deployment of ${commit}`, async () => {
      const found = await deploymentsOf(commit);
      return found.length > 0 && found;
    });
    const deployment = await platform.ended(id);
    const { items: lines } = await platform.call('GET', `/deployments/${id}/logs?limit=1000`);
    return { deployment, lines, log: lines.map((line: Json) => line.text).join('\n') };
  }

  async function live(title: string): Promise<{ ms: number; build: number; log: string }> {
    const began = performance.now();
    const commit = await push('shop', site(title));
    const { deployment, log } = await ended(commit);
    assert.equal(deployment.status, 'success', log);
    const page = await platform.open('shop');
    assert.equal(page.status, 200);
    assert.ok(page.text.includes(`<title>${title}</title>`), page.text);
    assert.match(page.text, /<script type="module" crossorigin src="\/assets\/index-/);
    return { ms: Math.round(performance.now() - began), build: deployment.buildDurationMs, log };
  }

  /** Nothing of a build runs, and its folders are gone. */
  const atRest = (): Promise<true> =>
    eventually('the end of what builds began', async () => {
      assert.deepEqual((await machineThings())['containers'], things['containers']);
      const work = path.join(platform.folder, 'data/builds/work');
      assert.deepEqual(existsSync(work) ? readdirSync(work) : [], []);
      return true;
    });

  it('a repository with packages is live after a push, and sooner after the next one', async (t) => {
    const first = await live('first');
    assert.match(first.log, /Building in the sandbox main-[0-9a-f]{16}, which is new/);
    assert.match(first.log, /^Node 22\.\d+\.\d+ \(\.nvmrc asks for 22\)$/m);
    assert.match(first.log, /^v22\.\d+\.\d+$/m);
    const second = await live('second');
    assert.match(second.log, /with what its last build left in caches/);
    await atRest();
    t.diagnostic(
      `${engineName}: push to live ${first.ms} ms (build ${first.build}), the next with its cache ${second.ms} ms (build ${second.build})`,
    );
  });

  it('a hostile push fails with a log that says why, and the site beside it answers all the time', async (t) => {
    const load = startSteadyLoad({ port: platform.ports.handler, host: 'shop.localhost', perSecond: 10 });
    t.after(() => load.stop());
    const api = `http://127.0.0.1:${platform.ports.api}/healthz`;
    const { deployment, log } = await ended(
      await push('evil', {
        'platform.yaml': 'kind: static\nbuild: sh attack.sh\nout: dist\n',
        'attack.sh': [
          'echo "metadata: $(curl -s -f -m 5 http://169.254.169.254/ && echo reached || echo nothing)"',
          `echo "around the proxy: $(curl -s -m 5 --noproxy '*' http://169.254.169.254/ && echo reached || echo nothing)"`,
          `echo "platform: $(curl -s -m 5 --noproxy '*' ${api} || echo nothing)"`,
          'cat /proc/*/environ 2>/dev/null | tr "\\0" "\\n" > seen',
          `echo "secrets: $(grep -c -e ENCRYPTION -e DATABASE_URL -e SANDBOX_AUTH_TOKEN -e ${TOKEN} seen)"`,
          'bomb() { bomb | bomb & }; bomb; sleep 1; exit 7',
        ].join('\n'),
      }),
    );
    await load.stop();
    assert.deepEqual([deployment.status, deployment.reason], ['failure', 'build_failed'], log);
    for (const line of ['metadata: nothing', 'around the proxy: nothing', 'platform: nothing', 'secrets: 0'])
      assert.ok(log.split('\n').includes(line), log);
    assert.match(log, /^The build command "sh attack\.sh" ended with exit code \d+/m);
    assert.deepEqual(load.failures, []);
    assert.match((await platform.open('shop')).text, /<title>second<\/title>/);
    assert.equal((await platform.open('evil')).status, 404);
    await atRest();
  });

  it(`kill -9 of the builder loses no push and leaves nothing, ${rounds} rounds`, { timeout }, async (t) => {
    const pushed = (page: string): Promise<string> =>
      push('killed', {
        'platform.yaml': 'kind: static\nbuild: sh build.sh\nout: dist\n',
        'build.sh': `echo begun; sleep 1; mkdir -p dist; echo '${page}' > dist/index.html\n`,
      });
    const began = performance.now();
    await ended(await pushed('round 0'));
    // The first one also makes the sandbox.
    const span = (performance.now() - began) / 2;
    for (let round = 1; round <= rounds; round++) {
      const commit = await pushed(`round ${round}`);
      const ms = Math.round(Math.random() * span);
      await wait(ms);
      const pid = await eventually('A process of the builder', async () => {
        const { services } = await platform.status();
        return services.find((service: Json) => service.name === 'builder')?.pid ?? null;
      });
      process.kill(pid, 'SIGKILL');
      const { deployment, lines, log } = await ended(commit);
      assert.deepEqual([deployment.status, deployment.reason ?? null], ['success', null], log);
      assert.equal((await platform.open('killed')).text, `round ${round}\n`);
      assert.equal((await deploymentsOf(commit)).length, 1);
      assert.deepEqual(
        lines.map((line: Json) => line.seq),
        lines.map((_: Json, index: number) => index + 1),
        'a line of the log is lost',
      );
      const attempts = lines.filter((line: Json) => line.text.startsWith('Building killed')).length;
      assert.ok(attempts <= 2, `${attempts} attempts are to be seen`);
      await atRest();
      t.diagnostic(`round ${round}: killed ${ms} ms after the push, attempts ${attempts}`);
    }
    // One sandbox of each branch that was built, whatever was killed meanwhile, and none when its project is gone.
    const { items } = await platform.call('GET', '/deployments?limit=100');
    const projects = new Set<string>(items.map((one: Json) => one.projectId));
    const disks = (): string[] =>
      readdirSync(path.join(platform.folder, 'data/sandboxes')).filter((name) => name.endsWith('.img'));
    assert.equal(disks().length, projects.size);
    for (const id of projects) {
      const { name } = await platform.call('GET', `/projects/${id}`);
      await platform.call('DELETE', `/projects/${id}?name=${name}`);
    }
    await eventually('nothing is left of the projects', async () => {
      assert.deepEqual(disks(), []);
      assert.deepEqual(await machineThings(), things);
      return true;
    });
  });
});
