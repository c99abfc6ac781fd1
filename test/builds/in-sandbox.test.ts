// Builds in sandboxes of a sandbox service, here local ones: what goes in, what comes out, what is kept between two.
// Local ones do not isolate: that is for tests over containers (test/sandbox/).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openSandboxClient, type SandboxServiceClient } from '#core/sandbox/service-client.ts';
import { buildPlace } from '#builder/steps/build-sandbox/place.ts';
import { buildProgram } from '#builder/steps/build-sandbox/program.ts';
import type { BuildSandbox } from '#builder/steps/types.ts';
import {
  buildIn,
  linkedProgram,
  openBuildPlace,
  possibleWays,
  WORKER,
  workerWith,
} from '#test/setup/confined-builds.ts';
import { startTestSandboxService, type TestSandboxService } from '#test/setup/sandbox-service.ts';

const [way] = await possibleWays();
const confinement = way?.confinement ?? { kind: 'none', reason: null };
let service: TestSandboxService;
let client: SandboxServiceClient;

before(async () => {
  service = await startTestSandboxService();
  client = openSandboxClient(service.address);
});
after(() => service.close());

const inSandbox = (branch: string, more: Partial<BuildSandbox> = {}): { branch: string; sandbox: BuildSandbox } => ({
  branch: 'main',
  sandbox: {
    client,
    place: buildPlace('shop', branch),
    headers: {},
    isCleared: false,
    isTransient: false,
    program: linkedProgram,
    ...more,
  },
});

test('a worker with a package becomes the artifact that a build on this machine makes', async (t) => {
  const place = openBuildPlace(t);
  place.commit({
    ...WORKER,
    '.nvmrc': '20\n',
    'package.json': JSON.stringify({ name: 'shop', dependencies: { words: 'file:libs/words' } }),
    'libs/words/package.json': JSON.stringify({ name: 'words', version: '1.0.0', main: 'index.js' }),
    'libs/words/index.js': 'module.exports = { greeting: "from a package" };\n',
    'src/index.ts': 'import { greeting } from "words"; export default { fetch: () => new Response(greeting) };\n',
  });
  const here = await buildIn(place, confinement);
  const there = await buildIn(place, confinement, inSandbox('same', { program: await buildProgram() }));
  assert.equal(there.failure, null, `${there.failure?.message}\n${there.log}`);
  assert.equal(there.result?.artifactId, here.result?.artifactId);
  assert.deepEqual(there.result?.commit, here.result?.commit);
  assert.deepEqual(there.steps, ['clone', 'install', 'build', 'artifact']);
  assert.ok(readFileSync(join(there.result!.folder, 'worker.js'), 'utf8').includes('from a package'));
  const { node } = process.versions;
  assert.ok(here.log.includes(`[install warn] .nvmrc asks for Node 20; this machine's own, ${node}, is used\n`));
  assert.ok(
    there.log.includes(`[install warn] .nvmrc asks for Node 20; the build sandbox has ${node}: ${node} is used`),
  );
  assert.deepEqual(place.leftOver(), []);
  assert.equal((await client.info(buildPlace('shop', 'same')))?.state, 'stopped');
});

test('the next build of a branch has its caches and nothing else of the one before; another branch has neither', async (t) => {
  const place = openBuildPlace(t);
  const files = {
    'package.json': JSON.stringify({ name: 'shop', dependencies: { words: 'file:libs/words' } }),
    'libs/words/package.json': JSON.stringify({ name: 'words', version: '1.0.0' }),
    ...workerWith(`
      echo "cached: $(cat node_modules/.cache/seen 2>/dev/null || echo nothing)"
      echo "packages: $(ls -d "$npm_config_cache/_cacache" >/dev/null 2>&1 && echo some || echo none)"
      echo "left: $(ls leftover .env node_modules/leftover "$HOME/leftover" "$TMPDIR/leftover" 2>/dev/null | wc -l)"
      mkdir -p node_modules/.cache && echo yes > node_modules/.cache/seen
      mkdir -p "$npm_config_cache/_cacache"
      touch leftover node_modules/leftover "$HOME/leftover" "$TMPDIR/leftover"`),
  };
  place.commit(files);
  const saidBy = async (branch: string, more: Partial<BuildSandbox> = {}): Promise<string[]> => {
    const { failure, log } = await buildIn(place, confinement, inSandbox(branch, more));
    assert.equal(failure, null, `${failure?.message}\n${log}`);
    return log.split('\n').filter((line) => /^(?:cached|packages|left|\[clone info\] In)/.test(line));
  };
  const id = (branch: string): string => buildPlace('shop', branch).id;
  const fresh = (branch: string): string[] => [
    `[clone info] Building in the sandbox ${id(branch)}, which is new`,
    'cached: nothing',
    'packages: none',
    'left: 0',
  ];
  assert.deepEqual(await saidBy('cached'), fresh('cached'));
  assert.deepEqual(await saidBy('cached'), [
    `[clone info] Building in the sandbox ${id('cached')}, with what its last build left in caches`,
    'cached: yes',
    'packages: some',
    'left: 0',
  ]);
  assert.deepEqual(await saidBy('Cached'), fresh('Cached'));
  assert.deepEqual(await saidBy('cached', { isCleared: true }), fresh('cached'));
  // Of a fork: what it leaves is gone with it.
  assert.deepEqual(await saidBy('pull:1', { isTransient: true }), fresh('pull:1'));
  assert.equal(await client.info(buildPlace('shop', 'pull:1')), null);
});

test('commands get the variables of the project and none of the platform, in no file and on no command line', async (t) => {
  process.env['PLATFORM_SECRET'] = 'of-the-platform';
  process.env['HTTPS_PROXY'] = 'http://proxy.inside:3128';
  t.after(() => {
    delete process.env['PLATFORM_SECRET'];
    delete process.env['HTTPS_PROXY'];
  });
  const place = openBuildPlace(t);
  place.commit(
    workerWith(`
      echo "variables $TOKEN $PLATFORM_BRANCH $CI [$PLATFORM_SECRET] [$DATABASE_URL] [$SANDBOX_AUTH_TOKEN] [$HTTPS_PROXY]"
      cat /proc/*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c 'of-the-[p]roject' || true
      grep -rl 'of-the-[p]roject' "$HOME/.." 2>/dev/null | grep -v hostile.sh || echo in no file`),
  );
  const { failure, log } = await buildIn(place, confinement, {
    ...inSandbox('variables'),
    variables: { TOKEN: 'of-the-project' },
  });
  assert.equal(failure, null, `${failure?.message}\n${log}`);
  assert.match(log, /^variables of-the-project main 1 \[\] \[\] \[\] \[\]\n0\nin no file$/m);
  assert.ok(!log.includes(service.address.token));
});

test('a build that fails says why, and its sandbox stops', async (t) => {
  const place = openBuildPlace(t);
  place.commit(workerWith('echo on the way; exit 3'));
  const failing = await buildIn(place, confinement, inSandbox('failing'));
  assert.equal(failing.failure?.reason, 'build_failed');
  assert.match(failing.failure.message, /ended with exit code 3/);
  assert.match(failing.log, /^on the way$/m);
  place.commit({ ...WORKER, 'package.json': '{"dependencies":{"x":"file:nowhere"}}', 'package-lock.json': '{' });
  const installing = await buildIn(place, confinement, inSandbox('failing'));
  assert.equal(installing.failure?.reason, 'install_failed');
  assert.equal((await client.info(buildPlace('shop', 'failing')))?.state, 'stopped');
});

test('the end of a build ends its commands, and its log comes while it runs', async (t) => {
  const place = openBuildPlace(t);
  place.commit(workerWith('echo begun; sleep 61.5; echo never'));
  const ending = new AbortController();
  const why = new Error('canceled by hand');
  const building = buildIn(place, confinement, {
    ...inSandbox('canceled'),
    signal: ending.signal,
    onOutput: (_step, _level, chunk) => {
      if (Buffer.from(chunk).toString().includes('begun')) ending.abort(why);
    },
  });
  await assert.rejects(building, why);
  assert.equal((await client.info(buildPlace('shop', 'canceled')))?.state, 'stopped');
});

test('a service that is away for a moment is waited for', async (t) => {
  const place = openBuildPlace(t);
  place.commit(WORKER);
  await service.goAway();
  const lines: string[] = [];
  const building = buildIn(place, confinement, {
    ...inSandbox('patient'),
    onLine: (_step, level, text) => {
      lines.push(text);
      if (level === 'warn') void service.comeBack();
    },
  });
  const { result } = await building;
  assert.equal(result?.kind, 'dynamic');
  assert.ok(
    lines.includes('The sandbox is unavailable: the sandbox service does not answer (ECONNREFUSED): trying again'),
  );
});

test('a build whose sandbox is lost begins again, once, and is never built elsewhere', async (t) => {
  const place = openBuildPlace(t);
  place.commit(workerWith('echo begun; sleep 60'));
  let begun = 0;
  const sandbox = inSandbox('lost');
  const { failure, log } = await buildIn(place, confinement, {
    ...sandbox,
    onOutput: (_step, _level, chunk) => {
      if (!Buffer.from(chunk).toString().includes('begun')) return;
      begun++;
      void client.call(sandbox.sandbox.place, 'stop');
    },
  });
  assert.equal(begun, 2);
  assert.equal(failure?.reason, 'sandbox_unavailable');
  assert.match(
    failure.message,
    /^The sandbox of the build cannot be used, and builds run only in sandboxes: The sandbox was lost/,
  );
  assert.match(log, /The sandbox was lost during the call: .*: the build restarts/);
});
