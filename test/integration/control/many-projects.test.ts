// A thousand projects with ten deployments each: the API process over them, how long its lists take, what memory it
// has. Prints figures; asserts only what the lists hold.
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { nodeFlags } from '#core/node-flags.mjs';
import { openSql, type Sql } from '#postgres/sql.ts';
import { newId } from '#control/records/ids.ts';
import { newSecret } from '#control/access/secrets.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';

const PROJECTS = 1000;
const DEPLOYMENTS = 10;
const folder = mkdtempSync(path.join(tmpdir(), 'platform-many-'));
const organizationId = newId('organization');
const { secret, hash } = newSecret('plt');
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let sql: Sql;
let api: ChildProcess;
let origin: string;

before(async () => {
  database = await createTestDatabase();
  sql = openSql({ url: database.url, name: 'test', connectionsMax: 2 });
  const accountId = newId('account');
  await sql`INSERT INTO control.organization (id, slug, name, is_first) VALUES (${organizationId}, 'many', 'Many', true)`;
  await sql`INSERT INTO control.account (id, login, is_admin) VALUES (${accountId}, 'ada', true)`;
  await sql`INSERT INTO control.membership VALUES (${organizationId}, ${accountId}, 'owner')`;
  await sql`INSERT INTO control.token (id, hash, hint, name, account_id, scope)
    VALUES (${newId('token')}, ${hash}, 'plt_many', 'many', ${accountId}, 'admin')`;
  await sql`
    INSERT INTO control.project (id, organization_id, name, created_at)
    SELECT 'prj_' || p, ${organizationId}, 'project-' || p, now() - make_interval(mins => p)
    FROM generate_series(1, ${PROJECTS}) p`;
  await sql`
    INSERT INTO control.deployment (id, project_id, organization_id, status, target, branch, source, artifact, created_at)
    SELECT 'd' || lpad(p::text, 6, '0') || lpad(d::text, 6, '0'), 'prj_' || p, ${organizationId}, 'success', 'production',
      'main', 'upload', repeat('0', 64), now() - make_interval(mins => p, secs => d)
    FROM generate_series(1, ${PROJECTS}) p, generate_series(1, ${DEPLOYMENTS}) d`;
  await sql`
    UPDATE control.project SET production_deployment_id = 'd' || lpad(substr(id, 5), 6, '0') || '000001'`;
  await sql`ANALYZE`;
  api = fork(path.join(import.meta.dirname, '../../../control/main.ts'), {
    execArgv: [...nodeFlags],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      ...process.env,
      DATABASE_URL: database.url,
      FS_PATH: folder,
      PLATFORM_HOME: folder,
      ENCRYPTION_KEY: '0123456789abcdef0123456789abcdef',
      AUTH_SECRET: '0123456789abcdef0123456789abcdef',
      API_PORT: '0',
      UI_PORT: '0',
      LOG_LEVEL: 'error',
    },
  });
  const ended = once(api, 'exit').then(([code]) => {
    throw new Error(`The API process exited with ${code}`);
  });
  ended.catch(() => {});
  const [ready] = (await Promise.race([once(api, 'message'), ended])) as [{ port: number }];
  origin = `http://127.0.0.1:${ready.port}`;
});
after(async () => {
  api.kill('SIGTERM');
  if (api.exitCode === null) await once(api, 'exit');
  await sql.end();
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

async function get(at: string): Promise<{ items: { id: string; name?: string }[]; nextCursor: string | null }> {
  const answer = await fetch(`${origin}${at}`, { headers: { authorization: `Bearer ${secret}` } });
  assert.equal(answer.status, 200, await answer.clone().text());
  return (await answer.json()) as Awaited<ReturnType<typeof get>>;
}

/** Megabytes of the API process, its share of shared pages. */
function memoryMb(): string {
  try {
    const text = readFileSync(`/proc/${api.pid}/smaps_rollup`, 'utf8');
    return `${Math.round(Number(/^Pss:\s+(\d+)/m.exec(text)?.[1]) / 1024)} MB`;
  } catch {
    return 'not known on this system';
  }
}

test('lists of a thousand projects come page by page, each entry once', async (t) => {
  const asked: [string, string][] = [
    ['first projects', `/orgs/${organizationId}/projects?limit=100`],
    ['search', `/orgs/${organizationId}/projects?search=project-77&limit=100`],
    ['deployments of a project', '/deployments?projectId=prj_500&limit=100'],
    ['deployments of the organization', `/deployments/by-org/${organizationId}?limit=100`],
    ['one status of all', '/deployments?status=success&limit=100'],
    ['nothing of that status', '/deployments?status=failure&limit=100'],
  ];
  t.diagnostic(`${PROJECTS} projects, ${PROJECTS * DEPLOYMENTS} deployments; API at first ${memoryMb()}`);
  for (const [what, at] of asked) {
    await get(at);
    const times: number[] = [];
    for (let count = 0; count < 20; count++) {
      const from = performance.now();
      await get(at);
      times.push(performance.now() - from);
    }
    times.sort((a, b) => a - b);
    t.diagnostic(`${what}: ${times[10]!.toFixed(1)} ms median, ${times[19]!.toFixed(1)} ms slowest of 20`);
  }
  const names = new Set<string>();
  let pages = 0;
  const from = performance.now();
  for (let cursor: string | null = ''; cursor !== null; pages++) {
    const page = await get(`/orgs/${organizationId}/projects?limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`);
    for (const { name } of page.items) names.add(name!);
    cursor = page.nextCursor;
  }
  t.diagnostic(`all projects in ${pages} pages: ${(performance.now() - from).toFixed(0)} ms`);
  assert.deepEqual([names.size, pages], [PROJECTS, PROJECTS / 100]);
  const routes = path.join(folder, 'routes');
  t.diagnostic(
    `${readdirSync(routes).filter((name) => name.endsWith('.json')).length} route records; API ${memoryMb()}`,
  );
});
