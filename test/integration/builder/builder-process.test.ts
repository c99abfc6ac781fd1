// The builder's process as the supervisor runs it, with the real steps: it is killed in the middle of builds, told to
// stop, and ends by itself. `BUILDER_KILL_ROUNDS=20` kills it more often.
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { buildPlace } from '#builder/steps/build-sandbox/place.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import { openSandboxClient } from '#core/sandbox/service-client.ts';
import { startGitHost } from '#test/setup/git-host.ts';
import { openBuilds, type TestBuilds } from '#test/setup/builds.ts';
import { startTestSandboxService } from '#test/setup/sandbox-service.ts';
import { shellSteps } from '#test/setup/shell-steps.ts';
import { until } from '#test/setup/until.ts';

const main = path.join(import.meta.dirname, '../../../builder/service/main.ts');
const rounds = Number(process.env['BUILDER_KILL_ROUNDS'] ?? 1);

let builds: TestBuilds;
let builder: ChildProcess | null = null;
before(async () => {
  builds = await openBuilds(shellSteps);
});
after(async () => {
  builder?.kill('SIGKILL');
  await builds.close();
});

/** Starts the process; resolves when it is ready. */
async function start(variables: Readonly<Record<string, string>> = {}): Promise<ChildProcess> {
  const [program, ...words] = nodeCommand();
  const child = fork(main, {
    execPath: program,
    execArgv: [...words, '--disable-warning=ExperimentalWarning'],
    env: {
      PATH: process.env['PATH'],
      FS_PATH: builds.folder,
      DATABASE_URL: builds.url,
      ENCRYPTION_KEY: builds.keyText,
      BUILD_POLL_MS: '100',
      GITHOST_WEBHOOK_SECRET: 'of-the-platform-alone',
      ...variables,
    },
    stdio: ['ignore', process.env['TEST_LOG'] === undefined ? 'ignore' : 'inherit', 'inherit', 'ipc'],
  });
  builder = child;
  const [first] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [unknown];
  assert.deepEqual(first, { type: 'ready' });
  return child;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<unknown[]> {
  const ended = once(child, 'exit');
  child.kill(signal);
  return ended;
}

/** A project whose build prints so many lines, one in 30 ms. */
function counting(lines: number): Record<string, string> {
  const command = `n=0; while [ $n -lt ${lines} ]; do n=$((n+1)); echo "line $n"; sleep 0.03; done; mkdir -p out; echo x > out/index.html`;
  return { 'platform.yaml': `kind: static\nout: out\nbuild: '${command}'\n` };
}

/** Processes with this text in their environment or command line. */
function processesWith(text: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return ['environ', 'cmdline'].some((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8').includes(text));
    } catch {
      return false;
    }
  });
}

test('a builder that is killed leaves no process, and the next one builds what it had claimed', async () => {
  const project = await builds.project('killed');
  for (let round = 0; round < rounds; round++) {
    const first = await start();
    const { id } = await project.push({ ...counting(25), round: String(round) });
    await builds.logged(id, `line ${3 + (round % 15)}`);
    const acknowledged = await builds.log(id);
    await end(first, 'SIGKILL');
    await until(() => processesWith(`${id}-1`).length === 0);
    const second = await start();
    const row = await builds.ended(id);
    assert.deepEqual([row.status, row.reason, row.artifact === null], ['uploading', null, false]);
    const lines = await builds.log(id);
    assert.deepEqual(lines.slice(0, acknowledged.length), acknowledged);
    assert.deepEqual(
      lines.map(({ seq }) => seq),
      lines.map((_, index) => index + 1),
    );
    assert.equal(lines.filter(({ text }) => text.includes('again: the builder was lost')).length, 1);
    assert.equal(lines.filter(({ text }) => text === 'line 25').length, 1);
    await until(() => processesWith(id).length === 0);
    await end(second, 'SIGTERM');
  }
});

test(
  'a builder that is killed while its builds run in sandboxes loses none, and leaves nothing that runs',
  { timeout: 120_000 + rounds * 60_000 },
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
    for (let round = 1; round <= rounds; round++) {
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
  await start();
  assert.equal((await builds.ended(again.id)).reason, null);
  assert.equal((await builds.deployment(id)).reason, 'superseded');
  await end(builder!, 'SIGTERM');
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
