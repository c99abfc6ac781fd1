// Organizations over a real database: who is in them, tokens, usage and plans, the audit log, and what operators read.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { backupRequestFile, beginRun, endRun, writeBackupPlan } from '#core/process/backup-runs.ts';
import type { UsageBatch } from '#core/usage-row.ts';
import { readEngines } from '#control/operator/overview.ts';
import { newId } from '#control/records/ids.ts';
import { takeUsage } from '#control/usage/collect.ts';
import { addUsage } from '#control/usage/store.ts';
import { usageRow } from '#test/setup/usage-row.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';

let control: TestControl;
let projectId: string;
before(async () => {
  control = await startControl();
  const { body } = await control.call('POST', '/projects', { name: 'shop', organizationId: control.organizationId });
  projectId = body.id;
});
after(() => control.close());

test('an organization always has one owner', async () => {
  const { body: org } = await control.call('POST', '/orgs', { name: 'Bee & Sons' });
  assert.deepEqual([org.slug, org.role, org.plan], ['bee-sons', 'owner', 'free']);
  const member = await control.account('kim', { [org.id]: 'member' });
  const owners = async () =>
    (
      await control.sql<{ id: string }[]>`
      SELECT account_id AS id FROM control.membership WHERE organization_id = ${org.id} AND role = 'owner'`
    ).map(({ id }) => id);
  assert.equal((await control.call('POST', `/orgs/${org.id}/leave`)).status, 409);
  const at = `/orgs/${org.id}/members/${control.owner.accountId}`;
  assert.equal((await control.call('DELETE', at)).status, 409);
  assert.equal((await control.call('PATCH', at, { role: 'viewer' })).status, 409);
  assert.equal(
    (await control.call('PATCH', `/orgs/${org.id}/members/${member.accountId}`, { role: 'owner' })).status,
    400,
  );
  assert.equal((await control.call('POST', `/orgs/${org.id}/transfer`, { accountId: 'usr_none' })).status, 422);
  const both = await Promise.all([
    control.call('POST', `/orgs/${org.id}/transfer`, { accountId: member.accountId }),
    control.call('POST', `/orgs/${org.id}/transfer`, { accountId: member.accountId }),
  ]);
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 403]);
  assert.deepEqual(await owners(), [member.accountId]);
  assert.equal((await control.call('POST', `/orgs/${org.id}/leave`)).status, 204);
  assert.equal((await control.call('GET', `/orgs/${org.id}`)).status, 404);
});

test('owners and admins choose the size of build machines, and the audit log says so', async () => {
  const at = `/orgs/${control.organizationId}`;
  assert.equal((await control.call('GET', at)).body.buildMachine, null);
  assert.equal((await control.call('PATCH', at, { buildMachine: 'large' })).body.buildMachine, 'large');
  const admin = await control.account('build-admin', { [control.organizationId]: 'admin' });
  const member = await control.account('build-member', { [control.organizationId]: 'member' });
  assert.equal((await control.call('PATCH', at, { buildMachine: 'xlarge' }, member.token)).status, 403);
  assert.equal((await control.call('PATCH', at, { buildMachine: 'huge' })).status, 400);
  assert.equal((await control.call('PATCH', at, { name: 'Acme' }, admin.token)).body.buildMachine, 'large');
  assert.equal((await control.call('GET', at, undefined, member.token)).body.buildMachine, 'large');
  assert.equal((await control.call('PATCH', at, { buildMachine: null }, admin.token)).body.buildMachine, null);
  const rows = await control.sql<{ details: Record<string, unknown> }[]>`
    SELECT details FROM control.audit_event WHERE action = 'organization.update' AND details ? 'buildMachine' ORDER BY seq`;
  assert.deepEqual(
    rows.map(({ details }) => details['buildMachine']),
    ['large', null],
  );
});

test('an invitation is for a login on the Git host, and is taken once', async () => {
  const guest = await control.account('guest');
  await control.sql`
    INSERT INTO control.identity (provider, subject, account_id, login) VALUES ('git-host', '77', ${guest.accountId}, 'Guest77')`;
  const at = `/orgs/${control.organizationId}/invitations`;
  const made = await control.call('POST', at, { login: 'guest77', role: 'viewer' });
  assert.equal(made.status, 201);
  const other = await control.account('guest77');
  const accept = `/invitations/${made.body.id}/accept`;
  assert.equal((await control.call('POST', accept, undefined, other.token)).status, 404);
  const mine = await control.call('GET', '/invitations', undefined, guest.token);
  assert.deepEqual(
    mine.body.items.map(({ id }: { id: string }) => id),
    [made.body.id],
  );
  assert.equal((await control.call('POST', accept, undefined, guest.token)).status, 204);
  assert.equal((await control.call('POST', accept, undefined, guest.token)).status, 404);
  assert.equal(
    (await control.call('GET', `/orgs/${control.organizationId}`, undefined, guest.token)).body.role,
    'viewer',
  );
  assert.equal((await control.call('POST', at, { login: 'GUEST77', role: 'admin' })).status, 409);
});

test('a token is shown once, reaches no further than its scope, and ends when it is revoked', async () => {
  const made = await control.call('POST', '/tokens', { name: 'ci', scope: 'deploy', projectId });
  assert.equal(made.status, 201);
  assert.match(made.body.token, /^plt_[\w-]{43}$/);
  const { body: list } = await control.call('GET', '/tokens');
  assert.doesNotMatch(JSON.stringify(list), new RegExp(made.body.token));
  assert.equal((await control.call('GET', `/projects/${projectId}`, undefined, made.body.token)).status, 200);
  assert.equal((await control.call('PATCH', `/projects/${projectId}`, {}, made.body.token)).status, 403);
  assert.equal((await control.call('DELETE', `/tokens/${made.body.id}`)).status, 204);
  assert.equal((await control.call('GET', `/projects/${projectId}`, undefined, made.body.token)).status, 401);
});

test('a token makes none that reaches further than itself', async () => {
  const bound = await control.call('POST', '/tokens', {
    name: 'org',
    scope: 'admin',
    organizationId: control.organizationId,
  });
  const wide = await control.call('POST', '/tokens', { name: 'wide', scope: 'admin' }, bound.body.token);
  assert.equal(wide.status, 403);
  const narrow = await control.call('POST', '/tokens', { name: 'narrow', scope: 'read', projectId }, bound.body.token);
  assert.equal(narrow.status, 201);
  const foreign = await control.organization('foreign');
  const outside = await control.call('POST', '/tokens', { name: 'x', scope: 'read', organizationId: foreign });
  assert.equal(outside.status, 404);
});

test('usage is added up by kind and route, of the own organization alone', async () => {
  const rows = [
    [projectId, 'http', '/a', 10, 100],
    [projectId, 'http', '/b', 5, 300],
    [projectId, 'queue', 'mail', 2, 50],
    ['prj_other', 'http', '/a', 99, 9999],
  ] as const;
  for (const [of, kind, route, invocations, cpu] of rows)
    await control.sql`
      INSERT INTO control.usage (hour, project_id, deployment_id, kind, route, invocations, cpu_ms, cpu_ms_max)
      VALUES (date_trunc('hour', now()) - interval '1 hour', ${of}, 'd1', ${kind}, ${route}, ${invocations}, ${cpu}, ${cpu})`;
  const kinds = (await control.call('GET', `/orgs/${control.organizationId}/usage`)).body;
  assert.deepEqual([kinds.totals.invocations, kinds.totals.cpuMs], [17, 450]);
  const shown = (items: { kind: string; route: string | null; cpuMs: number }[]) =>
    items.map(({ kind, route, cpuMs }) => [kind, route, cpuMs]);
  assert.deepEqual(shown(kinds.items), [
    ['http', null, 400],
    ['queue', null, 50],
  ]);
  const routes = (await control.call('GET', `/projects/${projectId}/usage?groupBy=route&kind=http`)).body;
  assert.deepEqual(shown(routes.items), [
    ['http', '/b', 300],
    ['http', '/a', 100],
  ]);
  for (const group of ['hour', 'day', 'project', 'deployment'])
    assert.equal((await control.call('GET', `/projects/${projectId}/usage?groupBy=${group}`)).status, 200, group);
  const wrong = '?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z';
  assert.equal((await control.call('GET', `/projects/${projectId}/usage${wrong}`)).status, 400);
});

interface UsageItem {
  readonly route: string;
  readonly invocations: number;
  readonly cpuMsMax: number;
  readonly costliest: { readonly id: string };
}

test('the invocations nearest to their budget come first, whatever their kind, and three of each row are kept', async () => {
  const { organizationId } = control;
  const id = newId('project');
  await control.sql`INSERT INTO control.project (id, organization_id, name) VALUES (${id}, ${organizationId}, 'near')`;
  const batch = (name: string, rows: readonly [string, string, [string, number][]][]): UsageBatch => ({
    id: name,
    rows: rows.map(([kind, route, worst]) =>
      usageRow('near', {
        kind: kind as 'http',
        route,
        invocations: worst.length,
        cpuMs: 1,
        cpuMsMax: worst[0]![1],
        cpuCounts: [0, worst.length],
        costliest: worst.map(([of, cpuMs]) => ({ id: of, at: Date.now(), cpuMs, isFailure: false })),
      }),
    ),
  });
  const batches = [
    batch('b1', [
      [
        'http',
        '/a',
        [
          ['a1', 900],
          ['a2', 300],
        ],
      ],
      ['queue', '', [['q1', 2000]]],
    ]),
    batch('b2', [
      [
        'http',
        '/a',
        [
          ['a3', 990],
          ['a4', 100],
        ],
      ],
    ]),
  ];
  const ask = ((_path: string, { acknowledged }: { acknowledged: string | null }) =>
    Promise.resolve({ status: 200, body: batches[acknowledged === null ? 0 : 1] })) as never;
  const deps = { ...control.deps, privatePort: { ...control.deps.privatePort, ask } };
  assert.equal(await takeUsage(deps, null), 'b1');
  assert.equal(await takeUsage(deps, 'b1'), 'b2');
  const costliest = async (query = '') =>
    (await control.call('GET', `/projects/${id}/usage/costliest${query}`)).body.items.map(
      (one: { id: string }) => one.id,
    );
  assert.deepEqual(await costliest(), ['a3', 'a1', 'q1', 'a2']);
  assert.deepEqual(await costliest('?kind=queue'), ['q1']);
  assert.deepEqual(await costliest('?route=/a&limit=2'), ['a3', 'a1']);
  const { body } = await control.call('GET', `/projects/${id}/usage?groupBy=route`);
  assert.deepEqual(
    (body.items as UsageItem[]).map((item) => [item.route, item.invocations, item.cpuMsMax, item.costliest.id]),
    [
      ['/a', 4, 990, 'a3'],
      ['', 1, 2000, 'q1'],
    ],
  );
  assert.equal(body.totals.cpuMsP50 > 0.03 && body.totals.cpuMsP50 < 0.05, true);
});

test('the operator gives plans, and the route records follow', async () => {
  const operator = await control.account('boss');
  const at = `/orgs/${control.organizationId}/plan`;
  assert.equal((await control.call('PUT', at, { plan: 'pro' })).status, 403);
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${operator.accountId}`;
  const version = async () =>
    (await control.sql<{ v: number }[]>`SELECT route_version AS v FROM control.project WHERE id = ${projectId}`)[0]!.v;
  const before = await version();
  const heard = Promise.withResolvers<string>();
  const stop = await control.deps.onNotify('control_route', heard.resolve);
  assert.equal((await control.call('PUT', at, { plan: 'pro' }, operator.token)).status, 200);
  assert.match(await heard.promise, /^prj_/);
  await stop();
  assert.equal(await version(), before + 1);
  assert.equal((await control.call('GET', `/orgs/${control.organizationId}`)).body.plan, 'pro');
  const { body } = await control.call('GET', '/plans');
  assert.equal(body.items.find(({ id }: { id: string }) => id === 'pro').cpuMs.http, 5000);
});

test('the audit log says who did what, a page at a time', async () => {
  for (const name of ['brief', 'rival'])
    await control.call('POST', '/projects', { name, organizationId: control.organizationId });
  const { body } = await control.call('GET', `/orgs/${control.organizationId}/audit?action=project.create&limit=1`);
  assert.deepEqual(
    [body.items[0].actor.kind, body.items[0].actor.login, body.items[0].details.name],
    ['token', 'ada', 'rival'],
  );
  const next = await control.call(
    'GET',
    `/orgs/${control.organizationId}/audit?action=project.create&limit=1&cursor=${body.nextCursor}`,
  );
  assert.equal(next.body.items[0].details.name, 'brief');
});

test('the audit log is asked by actor, subject and time', async () => {
  const at = `/orgs/${control.organizationId}/audit`;
  const count = async (query: string) => (await control.call('GET', `${at}?${query}`)).body.items.length;
  assert.ok((await count('actor=ada&subjectKind=project')) > 0);
  assert.deepEqual(
    [await count('actor=nobody'), await count('subjectKind=nothing'), await count('to=2020-01-01T00:00:00Z')],
    [0, 0, 0],
  );
  assert.ok((await count('from=2020-01-01T00:00:00Z')) > 0);
  assert.equal((await control.call('GET', `${at}?from=yesterday`)).status, 400);
  const reversed = await control.call('GET', `${at}?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z`);
  assert.deepEqual([reversed.status, reversed.body.message], [400, 'query.from: must not be after query.to']);
});

test('the operator reads how backups went and asks for one, where something makes them', async () => {
  const { folder } = control.deps;
  const operator = await control.account('keeper');
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${operator.accountId}`;
  const ask = (method: string) => control.call(method, '/operator/backups', undefined, operator.token);
  for (const method of ['GET', 'POST']) assert.equal((await control.call(method, '/operator/backups')).status, 403);
  assert.deepEqual((await ask('GET')).body, { runs: [], plan: null });
  assert.equal((await ask('POST')).status, 409);
  const plan = { cron: '0 3 * * *', target: 's3://files/platform', nextAt: '2026-11-24T03:00:00.000Z' };
  writeBackupPlan(folder, plan);
  endRun(folder, beginRun(folder), { location: 's3://files/platform/x', bytes: 10, writtenBytes: 5 });
  const { body } = await ask('GET');
  assert.deepEqual(body.plan, plan);
  assert.deepEqual(
    [body.runs[0].location, body.runs[0].bytes, body.runs[0].error],
    ['s3://files/platform/x', 10, null],
  );
  assert.equal(existsSync(backupRequestFile(folder)), false);
  assert.deepEqual((await ask('POST')).body, { isRequested: true });
  assert.equal(existsSync(backupRequestFile(folder)), true);
  const [event] = await control.sql`SELECT details FROM control.audit_event WHERE action = 'operator.backup'`;
  assert.equal(event!['details'].target, 's3://files/platform');
  beginRun(folder);
  assert.equal((await ask('POST')).status, 409);
  for (const name of ['backups.json', 'backup-schedule.json', 'backup-requested.json']) rmSync(path.join(folder, name));
});

test('the operator reads health checks of the platform, a silent part as a finding', async (context) => {
  // On every machine there is one certificate to look at.
  const named = process.env['SSL_CERT_FILE'];
  context.after(() => {
    if (named === undefined) delete process.env['SSL_CERT_FILE'];
    else process.env['SSL_CERT_FILE'] = named;
  });
  process.env['SSL_CERT_FILE'] = path.join(import.meta.dirname, '../../fixtures/tls/localhost.crt');
  assert.equal((await control.call('GET', '/operator/health')).status, 403);
  const operator = await control.account('doctor');
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${operator.accountId}`;
  const { status, body } = await control.call('GET', '/operator/health', undefined, operator.token);
  assert.equal(status, 200);
  const by = new Map(
    (body.findings as { name: string; status: string; message: string; advice: string | null }[]).map((one) => [
      one.name,
      one,
    ]),
  );
  assert.deepEqual([...by.keys()].sort(), [
    'backup',
    'builds',
    'certificates',
    'clock',
    'connections',
    'database',
    'disk',
    'engines',
    'file modes',
    'git host',
    'mail',
    'memory',
  ]);
  assert.match(by.get('database')!.message, /^Postgres \d+\.\d+ answers in \d+ ms and holds \d+ MB$/);
  // No platform runs in this test.
  assert.equal(by.get('engines')!.status, 'fail');
  assert.match(by.get('engines')!.advice!, /API_HANDLER_URL/);
});

test('the operator reads the load of the machine, the engines, and the busiest and most failing projects', async () => {
  assert.equal((await control.call('GET', '/operator/overview')).status, 403);
  const operator = await control.account('watcher');
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${operator.accountId}`;
  for (const [name, invocations, failures] of [
    ['busy-shop', 500, 0],
    ['failing-shop', 20, 15],
  ] as const) {
    await control.call('POST', '/projects', { name, organizationId: control.organizationId });
    await control.sql.begin((tx) =>
      addUsage(tx, [
        usageRow(name, { invocations, failures, statuses: [invocations - failures, 0, 0, failures, 0], cpuMs: 7 }),
      ]),
    );
  }
  const engine = { id: 4, role: 'serving', state: 'listening', restarts: 1, load: 3, status: { rssBytes: 1024 } };
  const ask = async () => ({ status: 200, body: { engines: [engine] } as never });
  const { body } = await control.call('GET', '/operator/overview', undefined, operator.token);
  assert.deepEqual(
    [body.engines, body.machine.cores > 0, body.machine.memoryBytes > body.machine.memoryFreeBytes],
    [null, true, true],
  );
  assert.ok(body.machine.diskBytes > body.machine.diskFreeBytes);
  const shown = (body.projects as { name: string; invocations: number; failures: number; organization: string }[])
    .filter(({ name }) => name.endsWith('-shop'))
    .map(({ name, invocations, failures }) => [name, invocations, failures]);
  assert.deepEqual(shown, [
    ['busy-shop', 500, 0],
    ['failing-shop', 20, 15],
  ]);
  assert.deepEqual(await readEngines({ ask }), [
    { id: 4, role: 'serving', state: 'listening', restarts: 1, load: 3, rssBytes: 1024 },
  ]);
});
