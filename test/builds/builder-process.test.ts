// The builder's process, killed while its builds run in sandboxes, told to stop, looked at from inside of a build, and
// ending by itself. `BUILDER_KILL_ROUNDS=20` kills it more often.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { buildPlace } from '#builder/steps/build-sandbox/place.ts';
import { openSandboxClient } from '#core/sandbox/service-client.ts';
import {
  counting,
  openBuilderProcesses,
  processesWith,
  ROUNDS,
  type BuilderProcesses,
} from '#test/setup/builder-process.ts';
import type { TestBuilds } from '#test/setup/builds.ts';
import { startGitHost } from '#test/setup/git-host.ts';
import { startTestSandboxService } from '#test/setup/sandbox-service.ts';
import { until } from '#test/setup/until.ts';

let processes: BuilderProcesses;
let builds: TestBuilds;
const start = (variables?: Readonly<Record<string, string>>): Promise<ChildProcess> => processes.start(variables);
const end = (child: ChildProcess, signal: NodeJS.Signals): Promise<unknown[]> => processes.end(child, signal);
before(async () => {
  processes = await openBuilderProcesses();
  ({ builds } = processes);
});
after(() => processes.close());

test('what is open in the shell that started the platform is open in no build', async () => {
  const secret = path.join(builds.folder, 'of-the-shell');
  writeFileSync(secret, 'of the shell');
  // One that Node does not look at by itself: it stops at the first number that is free.
  const child = await processes.start({}, ['bash', '-c', 'exec 63<"$0" && exec "$@"', secret]);
  const project = await builds.project('descriptors');
  const build =
    'cat <&63; for each in /proc/self/fd/*; do echo "open ${each##*/}"; done; mkdir -p out; echo x > out/index.html';
  const { id } = await project.push({
    'platform.yaml': 'kind: static\nout: out\nbuild: bash build.sh\n',
    'build.sh': build,
  });
  assert.equal((await builds.ended(id)).reason, null);
  const texts = (await builds.log(id)).filter(({ step }) => step === 'build').map(({ text }) => text);
  // Bash itself reads its script from 255, and the list from 3.
  assert.deepEqual(
    texts.filter((text) => text.startsWith('open')),
    ['open 0', 'open 1', 'open 2', 'open 255', 'open 3'],
  );
  assert.ok(!texts.includes('of the shell'));
  await end(child, 'SIGTERM');
});

test(
  'a builder that is killed while its builds run in sandboxes loses none, and leaves nothing that runs',
  { timeout: 120_000 + ROUNDS * 60_000 },
  async (t) => {
    const service = await startTestSandboxService();
    t.after(() => service.close());
    const client = openSandboxClient(service.address);
    const place = buildPlace('boxed', 'main');
    const project = await builds.project('boxed');
    const variables = {
      BUILD_EXECUTOR: 'sandbox',
      BUILD_LEASE_MS: '2000',
      SANDBOX_URL: service.address.url,
      SANDBOX_AUTH_TOKEN: service.address.token,
      SANDBOX_NETWORK_ISOLATION: 'true',
    };
    const push = (page: string): Promise<{ id: string }> =>
      project.push({
        'platform.yaml': 'kind: static\nout: out\nbuild: sh build.sh\n',
        'build.sh': `echo begun; sleep 0.5; mkdir -p out; echo '${page}' > out/index.html\n`,
      });
    let current = await start(variables);
    const began = performance.now();
    await builds.ended((await push('round 0')).id);
    // The first one also makes the sandbox.
    const span = (performance.now() - began) / 2;
    for (let round = 1; round <= ROUNDS; round++) {
      const { id } = await push(`round ${round}`);
      const ms = Math.random() * span;
      await pause(ms);
      const acknowledged = await builds.log(id);
      await end(current, 'SIGKILL');
      current = await start(variables);
      const row = await builds.ended(id);
      const lines = await builds.log(id);
      const text = lines.map((line) => line.text).join('\n');
      assert.deepEqual([row.status, row.reason], ['uploading', null], text);
      assert.equal(
        readFileSync(path.join(builds.folder, 'artifacts', row.artifact!, 'assets/index.html'), 'utf8'),
        `round ${round}\n`,
      );
      assert.deepEqual(lines.slice(0, acknowledged.length), acknowledged);
      assert.deepEqual(
        lines.map(({ seq }) => seq),
        lines.map((_, index) => index + 1),
      );
      const attempts = lines.filter(({ text: line }) => line.startsWith('Building boxed')).length;
      assert.ok(attempts <= 2, text);
      await until(async () => (await client.info(place))?.state === 'stopped');
      assert.equal((await service.backend.keys()).length, 1);
      await until(() => processesWith(service.folder).length === 0);
      await until(() => readdirSync(path.join(builds.folder, 'builds/work')).length === 0);
      t.diagnostic(`round ${round}: killed after ${Math.round(ms)} of ${Math.round(span)} ms, attempts ${attempts}`);
    }
    await end(current, 'SIGTERM');
  },
);

test('a builder that is told to stop gives its build back, which the next one builds as if it were the first', async () => {
  const project = await builds.project('stopped');
  const first = await start();
  const { id } = await project.push(counting(10_000));
  await builds.logged(id, 'line 3');
  const [code] = await end(first, 'SIGTERM');
  assert.equal(code, 0);
  const [job] = await builds.sql`SELECT attempt, lease FROM control.job WHERE deployment_id = ${id}`;
  assert.deepEqual([job, (await builds.deployment(id)).status], [{ attempt: 0, lease: null }, 'queued']);
  assert.deepEqual(processesWith(`${id}-1`), []);
  const again = await project.push(counting(1));
  const second = await start();
  assert.equal((await builds.ended(again.id)).reason, null);
  assert.equal((await builds.deployment(id)).reason, 'superseded');
  await end(second, 'SIGTERM');
});

test('builds see nothing of the platform, by their environment or their machine', async () => {
  const project = await builds.project('curious');
  await project.variable('production', 'OWN', 'own value', { kind: 'plaintext' });
  const file = path.join(builds.folder, 'of-the-platform');
  writeFileSync(file, 'content of a file');
  const command = `env; cat ${file} /proc/*/environ 2>&1 | tr "\\\\0" "\\\\n"; mkdir -p out; echo x > out/index.html`;
  const child = await start();
  const { id } = await project.push({ 'platform.yaml': `kind: static\nout: out\nbuild: '${command}'\n` });
  assert.equal((await builds.ended(id)).reason, null);
  await end(child, 'SIGTERM');
  const texts = (await builds.log(id)).map(({ text }) => text);
  assert.ok(texts.includes('OWN=own value'));
  assert.ok(texts.includes('PLATFORM_BRANCH=main'));
  const password = new URL(builds.url).password;
  for (const secret of [builds.keyText, password, 'of-the-platform-alone'])
    assert.ok(!texts.some((text) => text.includes(secret)), 'a secret of the platform is in the log');
  rmSync(file);
});

test('a repository of a Git host is fetched with a token for it alone, which no build and no log has', async () => {
  const host = await startGitHost();
  try {
    const installation = host.installation('acme', ['ada']);
    const repository = host.repository('acme/shop', installation);
    host.repository('acme/other', installation);
    const command = 'env; find . -name .git; cat /proc/self/environ; mkdir -p out; echo x > out/index.html';
    const commit = host.commit(repository, {
      files: { 'platform.yaml': `kind: static\nout: out\nbuild: '${command}'\n` },
    });
    const project = await builds.project('hosted');
    await builds.sql`
      INSERT INTO control.installation (id, account_login) VALUES (${String(installation.id)}, 'acme')`;
    await builds.sql`
      UPDATE control.repository SET source = 'git-host', host_id = ${String(repository.id)}, full_name = 'acme/shop',
        installation_id = ${String(installation.id)}, url = ${`${host.url}/acme/shop`} WHERE id = ${project.repositoryId}`;
    const child = await start(host.variables);
    const id = await project.deploy('main', commit);
    const row = await builds.ended(id);
    assert.deepEqual([row.reason, row.error_message, row.artifact === null], [null, null, false]);
    await end(child, 'SIGTERM');
    const tokens = [...host.state.tokens];
    assert.deepEqual(
      tokens.map(([, { repositoryIds, permissions }]) => [repositoryIds, permissions]),
      [[[repository.id], { contents: 'read' }]],
    );
    const text = (await builds.log(id)).map((line) => line.text).join('\n');
    for (const [token] of tokens)
      for (const form of [token, Buffer.from(`x-access-token:${token}`).toString('base64')])
        assert.ok(!text.includes(form), 'the token is in the log');
    // Nor masked: no command had it to print.
    assert.ok(!text.includes('***'));
    assert.doesNotMatch(text, /\.git$/m);
  } finally {
    await host.close();
  }
});

test('a builder without anything to build ends by itself', async () => {
  const child = await start({ BUILD_IDLE_MS: '200' });
  const [code] = await once(child, 'exit');
  assert.equal(code, 0);
});
