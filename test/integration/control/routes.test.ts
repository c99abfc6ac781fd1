// Route records as the database says: written when something changed, adopted where they were there before, and read by
// whoever serves. `ROUTE_PROJECTS=1000 npm test -- control/routes` prints what a thousand projects take.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { unseal } from '#core/encryption.ts';
import type { RouteRecord } from '#core/manifest.ts';
import { variableContext } from '#core/variable-context.ts';
import { retire } from '#control/releases/retention.ts';
import { touchRoute, writeAllRoutes, writeRoute } from '#control/releases/project-routes.ts';
import { newDeploymentId } from '#control/records/ids.ts';
import { readRoute } from '#artifacts/route-records.ts';
import { openRouteFiles } from '#artifacts/route-source-files.ts';
import { createRouteTable } from '#runtime/engine/router/route-table.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';

let control: TestControl;
before(async () => {
  control = await startControl();
  await control.sql`UPDATE control.organization SET is_first = true WHERE id = ${control.organizationId}`;
  mkdirSync(path.join(control.deps.folder, 'routes'));
});
after(() => control.close());

const artifact = (digit: string): string => digit.repeat(64);
const file = (name: string): string => path.join(control.deps.folder, 'routes', `${name}.json`);

function keepRecord(name: string): RouteRecord {
  const record: RouteRecord = {
    version: 1,
    project: name,
    plan: 'free',
    vars: { KEY: 'secret' },
    previewVars: { KEY: 'test' },
    branchVars: { login: { KEY: 'own' } },
    domains: [],
    production: 'd00000000000b',
    productionHistory: ['d00000000000a'],
    branches: { login: 'd00000000000c', trunk: 'd00000000000b' },
    deployments: {
      d00000000000a: {
        id: 'd00000000000a',
        artifact: artifact('a'),
        branch: 'trunk',
        createdAt: '2026-01-01T00:00:00.000Z',
        target: 'production',
      },
      d00000000000b: {
        id: 'd00000000000b',
        artifact: artifact('b'),
        branch: 'trunk',
        createdAt: '2026-01-02T00:00:00.000Z',
        target: 'production',
      },
      d00000000000c: {
        id: 'd00000000000c',
        artifact: artifact('c'),
        branch: 'login',
        createdAt: '2026-01-03T00:00:00.000Z',
        target: 'preview',
      },
    },
  };
  writeFileSync(file(name), JSON.stringify(record));
  return record;
}

async function makeProject(name: string, token?: string, organizationId = control.organizationId) {
  return control.call('POST', '/projects', { name, organizationId }, token);
}

test('what was served before the control plane knew it is adopted whole, and goes on being served', async () => {
  const before = keepRecord('old-shop');
  const { status, body } = await makeProject('old-shop');
  assert.equal(status, 201, JSON.stringify(body));
  assert.deepEqual([body.productionDeploymentId, body.defaultBranch], ['d00000000000b', 'trunk']);
  const adopted = { ...before, owner: { organization: control.organizationId, project: body.id } };
  assert.deepEqual(readRoute(control.deps.folder, 'old-shop'), adopted);
  const rows = await control.sql<{ key: string; scope: string; branch: string; value: Buffer }[]>`
    SELECT key, scope, branch, value FROM control.variable WHERE project_id = ${body.id} ORDER BY scope`;
  assert.deepEqual(
    rows.map(({ value, ...place }) => [
      place.scope,
      unseal(control.deps.keys, value, variableContext({ projectId: body.id, ...place })),
    ]),
    [
      ['branch', 'own'],
      ['preview', 'test'],
      ['production', 'secret'],
    ],
  );
  // Once more changes nothing.
  await control.sql`UPDATE control.project SET routed_version = 0 WHERE id = ${body.id}`;
  await writeRoute(control.deps, body.id);
  assert.deepEqual(readRoute(control.deps.folder, 'old-shop'), adopted);
});

test('another organization cannot take the name of what is served, and records without a project are left alone', async () => {
  keepRecord('examples');
  const text = readFileSync(file('examples'), 'utf8');
  const organizationId = await control.organization('others');
  const stranger = await control.account('mallory', { [organizationId]: 'owner' });
  const refused = await makeProject('examples', stranger.token, organizationId);
  assert.deepEqual([refused.status, refused.body.message], [409, 'The name examples is taken']);
  await writeAllRoutes(control.deps);
  assert.equal(readFileSync(file('examples'), 'utf8'), text);
});

test('a record that is lost or broken is written again, and goes with its project', async () => {
  const { body } = await makeProject('mended');
  const text = readFileSync(file('mended'), 'utf8');
  rmSync(file('mended'));
  assert.equal(await writeAllRoutes(control.deps), 1);
  assert.equal(readFileSync(file('mended'), 'utf8'), text);
  writeFileSync(file('mended'), '{');
  assert.equal(await writeAllRoutes(control.deps), 1);
  assert.equal(readFileSync(file('mended'), 'utf8'), text);
  assert.equal(statSync(file('mended')).mode & 0o777, 0o600);
  assert.equal((await control.call('DELETE', `/projects/${body.id}?name=mended`)).status, 204);
  await writeRoute(control.deps, body.id);
  assert.equal(readRoute(control.deps.folder, 'mended'), null);
});

test('artifacts that nothing leads to go, and what a rollback or a record needs stays', async () => {
  const { sql, deps } = control;
  const { body } = await makeProject('kept');
  const id = body.id as string;
  await sql`UPDATE control.project SET settings = '{"keepDeployments": 1}' WHERE id = ${id}`;
  const ids: string[] = [];
  for (const digit of ['1', '2', '3', '4', '5']) {
    const deployment = newDeploymentId();
    ids.push(deployment);
    const folder = path.join(deps.folder, 'artifacts', artifact(digit));
    mkdirSync(folder, { recursive: true });
    const { execFileSync } = await import('node:child_process');
    execFileSync('touch', ['-d', '2 days ago', folder]);
    await sql`
      INSERT INTO control.deployment (id, project_id, organization_id, status, target, branch, source, artifact)
      VALUES (${deployment}, ${id}, ${control.organizationId}, 'success', 'preview', ${`b${digit}`}, 'upload', ${artifact(digit)})`;
  }
  await sql`UPDATE control.project SET production_deployment_id = ${ids[1]!}, production_history = ${[ids[0]!]} WHERE id = ${id}`;
  await sql`INSERT INTO control.branch (project_id, name, deployment_id) VALUES (${id}, 'b3', ${ids[2]!})`;
  await sql.begin((tx) => touchRoute(tx, id));
  await writeRoute(deps, id);
  const retired = await retire(deps);
  assert.deepEqual([retired.deployments, retired.artifacts], [1, 1]);
  const left = await sql<{ artifact: string }[]>`
    SELECT artifact FROM control.deployment WHERE project_id = ${id} AND removed_at IS NULL ORDER BY artifact`;
  assert.deepEqual(
    left.map((row) => row.artifact[0]),
    ['1', '2', '3', '5'],
  );
  assert.equal(Object.hasOwn(readRoute(deps.folder, 'kept')!.deployments, ids[3]!), false);
});

test('many projects: a start compares their records, and a handler that restarts knows all of them', async () => {
  const { sql, deps } = control;
  const count = Number(process.env['ROUTE_PROJECTS'] ?? 40);
  await sql`
    INSERT INTO control.project (id, organization_id, name, production_deployment_id)
    SELECT 'prj_many' || n, ${control.organizationId}, 'many-' || n, 'd' || lpad(n || '9', 12, '0')
    FROM generate_series(1, ${count}::int) n`;
  await sql`
    INSERT INTO control.deployment (id, project_id, organization_id, status, target, branch, source, artifact)
    SELECT 'd' || lpad(n || '' || m, 12, '0'), 'prj_many' || n, ${control.organizationId}, 'success',
      CASE WHEN m = 9 THEN 'production' ELSE 'preview' END, CASE WHEN m = 9 THEN 'main' ELSE 'b' || m END, 'upload',
      repeat('e', 64)
    FROM generate_series(1, ${count}::int) n, generate_series(0, 9) m`;
  await sql`
    INSERT INTO control.branch (project_id, name, deployment_id)
    SELECT project_id, branch, id FROM control.deployment WHERE project_id LIKE 'prj_many%'`;
  const time = async <Result>(work: () => Promise<Result> | Result): Promise<[Result, string]> => {
    const began = performance.now();
    const result = await work();
    return [result, `${Math.round(performance.now() - began)} ms`];
  };
  const [written, first] = await time(() => writeAllRoutes(deps));
  assert.equal(written, count);
  const [again, compared] = await time(() => writeAllRoutes(deps));
  assert.equal(again, 0);
  const [source, read] = await time(() =>
    openRouteFiles({ folder: deps.folder, onProblem: ({ reason }) => assert.fail(reason) }),
  );
  const table = createRouteTable(['localhost']);
  const [, built] = await time(() => table.replace(source.routes));
  source.close();
  assert.equal(table.find(`many-${count}.localhost`)?.deployment, `d${`${count}9`.padStart(12, '0')}`);
  assert.equal(table.find('many-1--b3.localhost')?.preview, 'b3');
  console.log(
    `routes: ${count} projects with 10 deployments each: written in ${first}, compared at start in ${compared}; ` +
      `a restarted handler reads them in ${read} and knows its routes ${built} later`,
  );
});
