// Builds as a whole in a sandbox of a hosted provider, here a double of one: from the commit to the stored artifact,
// and again with what the first one left.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { buildPlace } from '#builder/steps/build-sandbox/place.ts';
import { runBuild } from '#builder/service/run-build.ts';
import { buildExecutor } from '#core/sandbox/build-executor.ts';
import { openSandboxClient } from '#core/sandbox/service-client.ts';
import { openBuilds, type TestBuilds, type TestProject } from '#test/setup/builds.ts';
import { openFakeHostedBackend, startHostedProvider, type FakeHostedProvider } from '#test/setup/hosted-provider.ts';
import { startTestSandboxService, type TestSandboxService } from '#test/setup/sandbox-service.ts';

const files = (greeting: string): Record<string, string> => ({
  'platform.yaml': 'kind: worker\nbuild: sh build.sh\n',
  'package.json': JSON.stringify({ name: 'shop', dependencies: { words: 'file:libs/words' } }),
  'libs/words/package.json': JSON.stringify({ name: 'words', version: '1.0.0', main: 'index.js' }),
  'libs/words/index.js': `module.exports = { greeting: ${JSON.stringify(greeting)} };\n`,
  'build.sh': `
    echo "kept: $(cat node_modules/.cache/seen 2>/dev/null || echo nothing)"
    mkdir -p node_modules/.cache && echo something > node_modules/.cache/seen`,
  'src/index.ts': 'import { greeting } from "words"; export default { fetch: () => new Response(greeting) };\n',
});

let provider: FakeHostedProvider;
let service: TestSandboxService;
let builds: TestBuilds;
let project: TestProject;

before(async () => {
  provider = await startHostedProvider();
  provider.templates.set('builds', 's7');
  const environment = {
    HOSTED_TEMPLATE: 'node',
    HOSTED_TEMPLATE_SNAPSHOT_ID: 's1',
    BUILD_SANDBOX_TEMPLATE: 'builds',
    BUILD_SANDBOX_TEMPLATE_SNAPSHOT_ID: 's7',
  };
  service = await startTestSandboxService(await openFakeHostedBackend(provider, { environment }));
  builds = await openBuilds(runBuild);
  const { url, token, organizations, machine } = buildExecutor({
    BUILD_EXECUTOR: 'sandbox',
    BUILD_SANDBOX_MACHINE_TYPE: 'small',
    SANDBOX_PROVIDER: 'hosted',
    SANDBOX_URL: service.address.url,
    SANDBOX_AUTH_TOKEN: service.address.token,
  })!;
  await builds.start({ sandboxes: { client: openSandboxClient({ url, token }), organizations, machine } });
  project = await builds.project('shop');
});
after(async () => {
  await builds.close();
  await service.close();
  await provider.close();
});

/** What a build said, and the worker that it made. */
async function built(greeting: string): Promise<{ log: string; worker: string }> {
  const { id } = await project.push(files(greeting));
  const { artifact } = await builds.ended(id);
  const log = (await builds.log(id)).map(({ text }) => text).join('\n');
  assert.notEqual(artifact, null, log);
  return { log, worker: readFileSync(path.join(builds.folder, 'artifacts', artifact!, 'worker.js'), 'utf8') };
}

test('a commit becomes an artifact on a machine of the provider, and the next one has its caches', async () => {
  const place = buildPlace('shop', 'main');
  const first = await built('hello from afar');
  assert.ok(first.log.includes(`Building in the sandbox ${place.id}, which is new`), first.log);
  assert.match(first.log, /^kept: nothing$/m);
  assert.ok(first.worker.includes('hello from afar'));
  assert.deepEqual(
    provider.all().map(({ machineType }) => machineType),
    ['small'],
  );
  const second = await built('hello again');
  assert.match(second.log, /with what its last build left in caches$/m);
  assert.match(second.log, /^kept: something$/m);
  assert.ok(second.worker.includes('hello again'));
  // Stopped between builds: a machine that is kept costs its disk.
  assert.equal(await service.backend.state((await service.backend.keys())[0]!), 'stopped');
});
