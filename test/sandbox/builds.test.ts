// Builds in sandboxes of a container engine: a repository with packages of the registry is pushed, built, and built
// again with what the first build left; a hostile one stays inside; a sandbox that is killed is no build elsewhere.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { lookup } from 'node:dns';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openSandboxClient, type SandboxServiceClient } from '#core/sandbox/service-client.ts';
import { openEngineApi } from '#sandbox/backends/container/engine-api.ts';
import { buildPlace } from '#builder/steps/build-sandbox/place.ts';
import { runBuild } from '#builder/service/run-build.ts';
import { possibleWays } from '#test/setup/confined-builds.ts';
import { BUILD_IMAGE, haveBuildImage } from '#test/setup/build-image.ts';
import { openBuilds, type TestBuilds, type TestProject } from '#test/setup/builds.ts';
import { engineName, machineThings, openTestContainers, socketPath } from '#test/setup/sandbox-containers.ts';
import { startTestSandboxService, type TestSandboxService } from '#test/setup/sandbox-service.ts';

/** A page that a bundler of the registry makes. */
const SITE = {
  'package.json': JSON.stringify({
    name: 'site',
    private: true,
    scripts: { build: 'vite build' },
    devDependencies: { vite: '8.2.6' },
    dependencies: { nanoid: '5.1.5' },
  }),
  'index.html': '<!doctype html><title>site</title><script type="module" src="/main.js"></script>',
  'main.js': `import { customAlphabet } from 'nanoid'; document.title = customAlphabet('a', 3)();`,
};

describe(`builds in sandboxes of ${engineName}`, () => {
  let things: Awaited<ReturnType<typeof machineThings>>;
  let service: TestSandboxService;
  let client: SandboxServiceClient;
  let builds: TestBuilds;
  let close: () => Promise<void>;
  let project: TestProject;
  const place = (branch: string) => buildPlace(project.name, branch);

  before(async () => {
    await haveBuildImage(socketPath);
    things = await machineThings();
    // A registry may stand at an address that is none of the internet's: here names lead anywhere, addresses do not.
    const egress = { policy: { loopback: false, private: false }, lookup, hosts: null };
    const bounds = { image: BUILD_IMAGE, memoryMb: 2048, processorsMax: 2, tasksMax: 512 };
    const containers = await openTestContainers({ egress, diskMb: 1024, builds: bounds });
    service = await startTestSandboxService(containers.backend);
    client = openSandboxClient(service.address);
    builds = await openBuilds(runBuild);
    const [way] = await possibleWays();
    const confinement = way?.confinement ?? { kind: 'none', reason: null };
    const sandboxes = { client, organizations: null, machine: null };
    await builds.start({ sandboxes, confinement });
    project = await builds.project('site');
    close = async () => {
      await builds.close();
      await containers.close();
      await service.close();
    };
  });
  after(async () => {
    await close?.();
    assert.deepEqual(await machineThings(), things);
  });

  async function built(
    id: string,
  ): Promise<{ text: string; ms: number; artifact: string | null; reason: string | null }> {
    const { artifact, reason, build_ms } = await builds.ended(id);
    const text = (await builds.log(id)).map((line) => line.text).join('\n');
    return { text, ms: build_ms ?? 0, artifact, reason };
  }

  it('a repository with packages is built twice, the second time with its cache', async (t) => {
    const first = await built((await project.push(SITE)).id);
    assert.notEqual(first.artifact, null, first.text);
    assert.match(first.text, /Building in the sandbox main-[0-9a-f]{16}, which is new/);
    assert.equal((await client.info(place('main')))?.state, 'stopped');
    const again = { ...SITE, 'main.js': `${SITE['main.js']}\nconsole.log('second');` };
    const second = await built((await project.push(again)).id);
    assert.notEqual(second.artifact, null, second.text);
    assert.notEqual(second.artifact, first.artifact);
    assert.match(second.text, /with what its last build left in caches/);
    const folder = path.join(builds.folder, 'artifacts', second.artifact!);
    assert.match(readFileSync(path.join(folder, 'assets/index.html'), 'utf8'), /<title>site<\/title>/);
    assert.ok(readdirSync(path.join(folder, 'assets/assets')).some((name) => name.endsWith('.js')));
    t.diagnostic(`${engineName}: first build ${first.ms} ms, second with its cache ${second.ms} ms`);
  });

  it('a hostile repository stays inside, and its neighbour is built', async () => {
    const script = [
      'id -u',
      'touch /usr/escaped /etc/escaped 2>&1 | head -1',
      'ls /var/run/docker.sock /data 2>&1 | tr "\\n" " "; echo',
      'cat /proc/*/environ 2>/dev/null | tr "\\0" "\\n" | grep -c -e TOKEN -e ENCRYPTION -e DATABASE_URL',
      'curl -s -m 5 -o /dev/null http://169.254.169.254/ && echo reached metadata || echo no metadata',
      `curl -s -m 5 --noproxy '*' -o /dev/null ${service.address.url}/healthz && echo reached service || echo no service`,
      `curl -s -m 5 -o /dev/null ${service.address.url}/healthz -f && echo reached by proxy || echo no proxy`,
      'mkdir -p dist && ln -s /etc/passwd dist/passwd && echo page > dist/index.html',
      '(setsid sleep 600 &)',
    ].join('\n');
    const files = { 'platform.yaml': 'kind: static\nbuild: sh attack.sh\nout: dist\n', 'attack.sh': script };
    const attack = await built((await project.push(files, 'attack')).id);
    const said = attack.text.split('\n');
    for (const line of ['1000', '0', 'no metadata', 'no service', 'no proxy'])
      assert.ok(said.includes(line), attack.text);
    assert.match(attack.text, /Read-only file system/);
    assert.ok(!existsSync('/usr/escaped') && !existsSync('/etc/escaped'));
    // Either its link is refused, or the file behind it is that of its own sandbox.
    if (attack.artifact !== null)
      assert.ok(!existsSync(path.join(builds.folder, 'artifacts', attack.artifact, 'assets/passwd')));
  });

  it('a fork bomb and a full disk are those of their own sandbox, and a neighbour is built', async () => {
    const files = { 'platform.yaml': 'kind: static\nbuild: sh attack.sh\nout: dist\n' };
    const bomb = { ...files, 'attack.sh': 'b() { b | b & }; b; sleep 1; exit 1' };
    assert.equal((await built((await project.push(bomb, 'attack')).id)).artifact, null);
    const filled = { ...files, 'attack.sh': 'head -c 2000000000 /dev/zero > big' };
    const full = await built((await project.push(filled, 'attack')).id);
    assert.equal(full.artifact, null);
    assert.match(full.text, /No space left on device/);
    const page = { ...files, 'attack.sh': 'mkdir -p dist; echo page > dist/index.html' };
    const neighbour = await built((await project.push(page, 'neighbour')).id);
    assert.notEqual(neighbour.artifact, null, neighbour.text);
  });

  it('a build whose sandbox is killed begins again, and is then an error', async () => {
    const api = openEngineApi(socketPath);
    const files = {
      'platform.yaml': 'kind: static\nbuild: sh slow.sh\nout: dist\n',
      'slow.sh': 'echo begun; sleep 120',
    };
    const { id } = await project.push(files, 'killed');
    const kill = async (): Promise<void> => {
      const containers = await api.call<{ Id: string; Labels: Record<string, string> }[]>('GET', '/containers/json');
      const [found] = containers.filter(({ Labels }) => Labels['platform.sandbox.id'] === place('killed').id);
      await api.call('POST', `/containers/${found!.Id}/kill`);
    };
    try {
      await builds.logged(id, 'begun');
      await kill();
      await builds.logged(id, 'the build restarts');
      for (;;) {
        const begun = (await builds.log(id)).filter(({ text }) => text === 'begun').length;
        if (begun === 2) break;
        assert.equal((await builds.deployment(id)).status, 'building');
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      await kill();
      const { reason, text } = await built(id);
      assert.equal(reason, 'sandbox_unavailable', text);
      assert.match(text, /cannot be used, and builds run only in sandboxes/);
    } finally {
      api.close();
    }
  });
});
