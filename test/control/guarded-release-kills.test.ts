// The API process is killed with kill -9 in the middle of a guarded release, over a supervisor and its processes: the
// next process continues the release where it was, and decides it.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { run } from '#cli/main.ts';
import { addUsage } from '#control/usage/store.ts';
import { openSql, type Sql } from '#postgres/sql.ts';
import { freePort } from '#test/setup/free-port.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { until } from '#test/setup/until.ts';
import { usageRow } from '#test/setup/usage-row.ts';
import { recordingShell } from '#test/unit/cli/recording-shell.ts';

const SECRET = '0123456789abcdef0123456789abcdef0123456789abcdef';

interface Guarded {
  readonly state: string;
  readonly reason: string;
  readonly percents: readonly number[];
}

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let sql: Sql;
let platform: TestPlatform;
let api: string;
before(async () => {
  database = await createTestDatabase();
  sql = openSql({ url: database.url, name: 'test', connectionsMax: 2 });
  const port = await freePort();
  api = `http://localhost:${port}`;
  platform = await startPlatform(
    {},
    {
      DATABASE_URL: database.url,
      ENGINE_DATABASE_URL: database.engineUrl,
      ENCRYPTION_KEY: SECRET,
      AUTH_SECRET: SECRET,
      API_PORT: String(port),
      UI_PORT: 'off',
      DOCS_PORT: 'off',
    },
  );
  await until(async () => (await fetch(`${api}/health`).catch(() => null))?.ok);
  await deploy('one');
});
after(async () => {
  await platform?.close();
  await sql?.end({ timeout: 5 });
  await database?.close();
});

/** Deploys a worker with this response to production. @returns id of the deployment. */
async function deploy(text: string): Promise<string> {
  const folder = path.join(platform.folder, 'source');
  mkdirSync(path.join(folder, 'src'), { recursive: true });
  writeFileSync(
    path.join(folder, 'platform.yaml'),
    'kind: worker\nname: shop\nrelease: { steps: [10, 50, 100], minutes: 1 }\n',
  );
  writeFileSync(path.join(folder, 'src/index.ts'), `export default { fetch: () => new Response('${text}') };\n`);
  const shell = recordingShell(folder, {
    PLATFORM_HOME: path.join(platform.folder, 'home'),
    PLATFORM_API_URL: api,
    PLATFORM_API_TOKEN: readFileSync(path.join(platform.folder, 'secrets/first-run-token'), 'utf8').trim(),
  });
  assert.equal(await run(['deploy', '--prod'], shell), 0, shell.errors.join('\n'));
  const [row] = await sql<{ id: string }[]>`SELECT id FROM control.deployment ORDER BY created_at DESC, id LIMIT 1`;
  return row!.id;
}

async function guardedOf(deployment: string): Promise<Guarded> {
  const [row] = await sql<Guarded[]>`
    SELECT state, reason, array(SELECT (jsonb_array_elements(steps)->>'percent')::int) AS percents
    FROM control.guarded_release WHERE deployment_id = ${deployment}`;
  return row!;
}

const ended = (deployment: string): Promise<Guarded> =>
  until(async () => {
    const guarded = await guardedOf(deployment);
    return guarded.state !== 'running' && guarded;
  });

/** Ends the minutes of the step that runs. */
async function endStep(): Promise<void> {
  await sql`
    UPDATE control.guarded_release SET step_at = now() - interval '1 hour', due_at = now() WHERE state = 'running'`;
}

const apiPid = (): Promise<number> =>
  until(async () => {
    const { services } = await platform.state();
    return services.find(({ name, state }) => name === 'api' && state === 'ready')?.pid;
  });

test('a good release whose API process is killed between two steps is promoted', async () => {
  const next = await deploy('two');
  assert.deepEqual((await guardedOf(next)).percents, [10]);
  await endStep();
  await until(async () => (await guardedOf(next)).percents.length === 2);
  const killed = await apiPid();
  process.kill(killed, 'SIGKILL');
  await endStep();
  const { state, percents } = await ended(next);
  assert.deepEqual([state, percents], ['promoted', [10, 50]]);
  assert.notEqual(await apiPid(), killed);
  await platform.answers('shop', 'two');
});

test('a bad release whose API process is killed in the first step is rolled back', async () => {
  const next = await deploy('three');
  process.kill(await apiPid(), 'SIGKILL');
  const failing = { deployment: next, invocations: 300, failures: 100, statuses: [200, 0, 0, 100, 0] };
  await sql.begin((tx) => addUsage(tx, [usageRow('shop', failing)]));
  const { state, reason } = await ended(next);
  assert.equal(state, 'rolled_back');
  assert.match(reason, /^Errors: 33 % of 300 requests failed/);
  await platform.answers('shop', 'two');
});
