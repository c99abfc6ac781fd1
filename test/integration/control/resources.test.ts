// Resources of the API over a real database: what they answer, what they refuse, what of them is never shown.
import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { encryptionKeys, unseal } from '#core/encryption.ts';
import { backupRequestFile, beginRun, endRun, writeBackupPlan } from '#core/process/backup-runs.ts';
import { isPreviewBypass, isPreviewPassword } from '#core/preview-access.ts';
import { variableContext } from '#core/variable-context.ts';
import type { UsageBatch } from '#core/usage-row.ts';
import { createApi } from '#control/api/app.ts';
import { writeRoute } from '#control/deployments/project-routes.ts';
import { newDeploymentId, newId } from '#control/records/ids.ts';
import { takeUsage } from '#control/usage/collect.ts';
import { readRoute } from '#deployments/route-records.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';

let control: TestControl;
let projectId: string;
const txt = new Map<string, string[]>();
before(async () => {
  control = await startControl({
    names: { txt: async (name) => txt.get(name) ?? [], cname: async () => [], addresses: async () => [] },
  });
  const { body } = await control.call('POST', '/projects', { name: 'shop', organizationId: control.organizationId });
  projectId = body.id;
});
after(() => control.close());

async function addDeployment(given: {
  status: string;
  branch?: string;
  of?: string;
  createdAt?: string;
}): Promise<string> {
  const id = newDeploymentId();
  const { status, branch = 'main', of = projectId, createdAt = new Date().toISOString() } = given;
  await control.sql`
    INSERT INTO control.deployment (id, project_id, organization_id, status, target, branch, source, created_at)
    VALUES (${id}, ${of}, ${control.organizationId}, ${status}, 'preview', ${branch}, 'push', ${createdAt}::text::timestamptz)`;
  return id;
}

test('pages of a list hold each entry once, also those of one moment', async () => {
  const { body: made } = await control.call('POST', '/projects', {
    name: 'pages',
    organizationId: control.organizationId,
  });
  const ids = [];
  for (let count = 0; count < 7; count++)
    ids.push(await addDeployment({ status: 'success', of: made.id, createdAt: '2026-01-01T00:00:00.123456Z' }));
  const seen: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const from: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const { body } = await control.call('GET', `/deployments?projectId=${made.id}&limit=3${from}`);
    seen.push(...body.items.map(({ id }: { id: string }) => id));
    cursor = body.nextCursor;
  }
  assert.deepEqual(seen, ids.toSorted().reverse());
});

test('a cursor that this API has not made is refused', async () => {
  for (const cursor of ['x', Buffer.from('["2026-01-01", "x"]').toString('base64url'), 'WzEsMl0', "';DROP TABLE x"]) {
    const { status, body } = await control.call(
      'GET',
      `/deployments?projectId=${projectId}&cursor=${encodeURIComponent(cursor)}`,
    );
    assert.deepEqual([status, body.code], [400, 'bad_request'], cursor);
  }
});

test('SQL in names, searches and ids is text', async () => {
  const sql = `x'; DROP TABLE control.project; --`;
  const name = await control.call('POST', '/projects', { name: sql, organizationId: control.organizationId });
  assert.equal(name.status, 400);
  const text = { description: sql };
  assert.equal((await control.call('PATCH', `/projects/${projectId}`, text)).body.description, sql);
  const found = await control.call(
    'GET',
    `/orgs/${control.organizationId}/projects?search=${encodeURIComponent("'; DROP")}`,
  );
  assert.deepEqual(
    found.body.items.map((project: { id: string }) => project.id),
    [projectId],
  );
  const all = await control.call('GET', `/orgs/${control.organizationId}/projects?search=%25`);
  assert.deepEqual(all.body.items, []);
  for (const id of [sql, '%00', '..%2F..', 'x'.repeat(5000)])
    assert.equal((await control.call('GET', `/projects/${encodeURIComponent(id)}`)).status, 404);
  assert.equal((await control.call('PATCH', `/projects/${projectId}`, { description: 'a\0b' })).status, 400);
});

test('wrong types are refused by name, and change nothing', async () => {
  const before = (await control.call('GET', `/projects/${projectId}`)).body;
  for (const body of [
    { description: 7 },
    { defaultBranch: null },
    { keepDeployments: -1 },
    { outputDirectory: '/etc' },
    { outputDirectory: 'a/../../b' },
    { unknown: true },
    { redeployOnVariables: 'yes' },
    [],
    'text',
    null,
  ])
    assert.equal((await control.call('PATCH', `/projects/${projectId}`, body)).status, 400, JSON.stringify(body));
  assert.deepEqual((await control.call('GET', `/projects/${projectId}`)).body, before);
});

test('settings are kept, and the preview password only as a hash', async () => {
  const { body } = await control.call('PATCH', `/projects/${projectId}`, {
    buildCommand: 'make',
    outputDirectory: 'out/',
    previewPassword: 'open sesame',
  });
  assert.deepEqual(
    [body.settings.buildCommand, body.settings.outputDirectory, body.settings.hasPreviewPassword],
    ['make', 'out', true],
  );
  const { body: bypass } = await control.call('POST', `/projects/${projectId}/preview-bypass`);
  await writeRoute(control.parts, projectId);
  const { protection } = readRoute(control.parts.folder, 'shop')!;
  assert.equal(await isPreviewPassword(protection!.passwordHash, 'open sesame'), true);
  assert.equal(isPreviewBypass(protection!.bypassHash!, bypass.token), true);
  const [row] =
    await control.sql`SELECT settings::text AS text, route_version FROM control.project WHERE id = ${projectId}`;
  assert.doesNotMatch(row!['text'], /sesame/);
  const reset = await control.call('PATCH', `/projects/${projectId}`, { buildCommand: null, previewPassword: null });
  assert.deepEqual([reset.body.settings.buildCommand, reset.body.settings.hasPreviewPassword], [null, false]);
});

test('a secret is taken, changed, and never given back', async () => {
  const at = `/environment-variables/${projectId}`;
  const made = await control.call('POST', at, { key: 'API_KEY', value: 'hunter2-value' });
  assert.deepEqual(
    [made.status, made.body.kind, made.body.value, made.body.scope],
    [201, 'secret', null, 'production'],
  );
  const plain = await control.call('POST', at, { key: 'MODE', value: 'fast', kind: 'plaintext', branch: 'feature' });
  assert.deepEqual([plain.body.value, plain.body.scope, plain.body.branch], ['fast', 'branch', 'feature']);
  const again = await control.call('POST', at, { key: 'API_KEY', value: 'other' });
  assert.equal(again.status, 409);
  const shown = await control.call('PATCH', `${at}/${made.body.id}`, { kind: 'plaintext' });
  assert.equal(shown.status, 422);
  const list = await control.call('GET', at);
  assert.doesNotMatch(JSON.stringify(list.body), /hunter2/);
  const dump = await control.sql`SELECT encode(value, 'escape') AS value FROM control.variable`;
  assert.doesNotMatch(JSON.stringify(dump), /hunter2|fast/);
  const audit = await control.sql`SELECT details::text AS text FROM control.audit_event`;
  assert.doesNotMatch(JSON.stringify(audit), /hunter2/);
  const [row] = await control.sql<{ value: Buffer }[]>`SELECT value FROM control.variable WHERE id = ${made.body.id}`;
  const context = variableContext({ projectId, scope: 'production', branch: '', key: 'API_KEY' });
  assert.equal(unseal(control.parts.keys, row!.value, context), 'hunter2-value');
});

test('an import sets all variables or none', async () => {
  const at = `/environment-variables/${projectId}/import`;
  const many = [
    { key: 'A', value: '1', scope: 'preview', kind: 'plaintext' },
    { key: 'PLATFORM_X', value: '2', scope: 'preview', kind: 'plaintext' },
  ];
  const refused = await control.call('POST', at, { variables: many });
  assert.deepEqual([refused.status, refused.body.code], [422, 'unprocessable']);
  const keys = async () =>
    (await control.call('GET', `/environment-variables/${projectId}`)).body.items
      .filter(({ scope }: { scope: string }) => scope === 'preview')
      .map(({ key, value }: { key: string; value: string }) => `${key}=${value}`);
  assert.deepEqual(await keys(), []);
  await control.call('POST', at, { variables: [{ ...many[0], value: '0' }] });
  const done = await control.call('POST', at, { variables: [many[0], { ...many[0], key: 'B' }] });
  assert.equal(done.status, 200);
  assert.deepEqual(await keys(), ['A=1', 'B=1']);
  const long = { key: 'LONG', value: 'é'.repeat(2561), kind: 'plaintext' };
  assert.match((await control.call('POST', at, { variables: [long] })).body.message, /5122 bytes, at most 5120/);
});

test('a member sets plaintext, and secrets are for admins', async () => {
  const member = await control.account('mel', { [control.organizationId]: 'member' });
  const at = `/environment-variables/${projectId}`;
  const secret = await control.call('POST', at, { key: 'BY_MEMBER', value: 'x' }, member.token);
  assert.deepEqual([secret.status, secret.body.message], [403, 'This needs the permission secret:write']);
  const plain = await control.call('POST', at, { key: 'BY_MEMBER', value: 'x', kind: 'plaintext' }, member.token);
  assert.equal(plain.status, 201);
  const over = { variables: [{ key: 'API_KEY', value: 'mine', kind: 'plaintext' }] };
  assert.equal((await control.call('POST', `${at}/import`, over, member.token)).status, 403);
});

test('after a new key variables are sealed under it, and the earlier one can go', async () => {
  const operator = await control.account('root');
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${operator.accountId}`;
  const [before, later] = ['0123456789abcdef0123456789abcdef', 'fedcba9876543210fedcba9876543210'];
  const parts = { ...control.parts, keys: encryptionKeys(`${later},${before}`) };
  const api = createApi();
  const reseal = async () => {
    const headers = { authorization: `Bearer ${operator.token}` };
    const answer = await api.fetch(new Request('http://x/operator/reseal', { method: 'POST', headers }), parts);
    return (await answer.json()) as { resealed: number; unreadable: number };
  };
  const first = await reseal();
  assert.ok(first.resealed > 0);
  assert.deepEqual(await reseal(), { resealed: 0, unreadable: 0 });
  const [row] = await control.sql<{ value: Buffer }[]>`SELECT value FROM control.variable WHERE key = 'API_KEY'`;
  const context = variableContext({ projectId, scope: 'production', branch: '', key: 'API_KEY' });
  assert.equal(unseal(encryptionKeys(later), row!.value, context), 'hunter2-value');
  await control.sql`DELETE FROM control.variable`;
});

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

test('a deleted project is gone, and its name stays with its organization', async () => {
  const { body } = await control.call('POST', '/projects', { name: 'brief', organizationId: control.organizationId });
  assert.equal((await control.call('DELETE', `/projects/${body.id}?name=shop`)).status, 422);
  assert.equal((await control.call('DELETE', `/projects/${body.id}?name=brief`)).status, 204);
  assert.equal((await control.call('GET', `/projects/${body.id}`)).status, 404);
  const elsewhere = await control.organization('elsewhere');
  const eve = await control.account('eve', { [elsewhere]: 'owner' });
  const taken = await control.call('POST', '/projects', { name: 'brief', organizationId: elsewhere }, eve.token);
  assert.deepEqual([taken.status, taken.body.message], [409, 'The name brief is taken']);
  const again = await control.call('POST', '/projects', { name: 'brief', organizationId: control.organizationId });
  assert.equal(again.status, 201);
});

test('a deployment has its URLs when it answers, and those that lead to it', async () => {
  const id = await addDeployment({ status: 'success', branch: 'Feature/X' });
  const own = `http://shop--${id}.localhost:4001`;
  const read = async () => (await control.call('GET', `/deployments/${id}`)).body;
  assert.deepEqual([(await read()).url, (await read()).aliasUrls], [own, []]);
  await control.sql`INSERT INTO control.branch (project_id, name, deployment_id) VALUES (${projectId}, 'Feature/X', ${id})`;
  await control.sql`UPDATE control.project SET production_deployment_id = ${id} WHERE id = ${projectId}`;
  const { aliasUrls, isLive } = await read();
  assert.equal(isLive, true);
  assert.match(
    aliasUrls.join(' '),
    /^http:\/\/shop\.localhost:4001 http:\/\/shop--feature-x-[0-9a-f]{6}\.localhost:4001$/,
  );
  const waiting = await addDeployment({ status: 'queued' });
  assert.equal((await control.call('GET', `/deployments/${waiting}`)).body.url, null);
});

test('a deployment that waits is canceled at once, one that is built is told to end', async () => {
  const waiting = await addDeployment({ status: 'queued' });
  assert.deepEqual(
    [
      (await control.call('POST', `/deployments/${waiting}/cancel`)).body.status,
      (await control.call('POST', `/deployments/${waiting}/cancel`)).status,
    ],
    ['canceled', 409],
  );
  const building = await addDeployment({ status: 'building' });
  await control.sql`
    INSERT INTO control.job (kind, deployment_id, project_id, branch, lease, lease_until)
    VALUES ('build', ${building}, ${projectId}, 'main', 'one', now() + interval '1 minute')`;
  assert.equal((await control.call('POST', `/deployments/${building}/cancel`)).status, 202);
  const [job] = await control.sql`SELECT cancel_reason FROM control.job WHERE deployment_id = ${building}`;
  assert.equal(job!['cancel_reason'], 'canceled');
});

test('a build log is read by pages', async () => {
  const id = await addDeployment({ status: 'success' });
  for (const seq of [1, 2, 3])
    await control.sql`INSERT INTO control.build_log (deployment_id, seq, step, text) VALUES (${id}, ${seq}, 'build', ${`line ${seq}`})`;
  const first = (await control.call('GET', `/deployments/${id}/logs?limit=2`)).body;
  assert.deepEqual([first.items.length, first.nextAfter, first.hasEnded], [2, 2, false]);
  const rest = (await control.call('GET', `/deployments/${id}/logs?limit=2&after=${first.nextAfter}`)).body;
  assert.deepEqual(
    [rest.items.map(({ text }: { text: string }) => text), rest.nextAfter, rest.hasEnded],
    [['line 3'], 3, true],
  );
});

test('a build log is followed until the end, from the line that the client has', async () => {
  const id = await addDeployment({ status: 'building' });
  const add = async (seq: number): Promise<void> => {
    await control.sql`INSERT INTO control.build_log (deployment_id, seq, step, text) VALUES (${id}, ${seq}, 'build', ${`line ${seq}`})`;
    await control.sql`SELECT pg_notify('control_log', ${id})`;
  };
  await add(1);
  await add(2);
  const headers = { authorization: `Bearer ${control.owner.token}`, accept: 'text/event-stream', 'last-event-id': '1' };
  const request = new Request(`http://localhost:4002/deployments/${id}/logs`, { headers });
  const response = await createApi().fetch(request, control.parts);
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  assert.equal(response.headers.get('cache-control'), 'no-store');
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const until = async (part: string): Promise<void> => {
    while (!text.includes(part)) {
      const { done, value } = await reader.read();
      if (done) throw new Error(`The stream ended before ${part}: ${text}`);
      text += value;
    }
  };
  await until('"line 2"');
  await add(3);
  await until('"line 3"');
  await control.sql`UPDATE control.deployment SET status = 'success' WHERE id = ${id}`;
  await control.sql`SELECT pg_notify('control_deployment', ${id})`;
  await until('event: end');
  assert.equal((await reader.read()).done, true);
  assert.deepEqual(
    [...text.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => seq),
    ['2', '3'],
  );
  assert.match(text, /"status":"success"/);
});

test('a domain is active when its TXT record proves it, for one project alone', async () => {
  const at = `/projects/${projectId}/domains`;
  const { body: domain } = await control.call('POST', at, { hostname: 'WWW.Example.com' });
  assert.deepEqual([domain.hostname, domain.status], ['www.example.com', 'pending_verification']);
  assert.match(domain.note, /Certificates are not issued by this platform/);
  const verify = async (id: string) => control.call('POST', `/domains/${id}/verify`);
  assert.deepEqual(
    [(await verify(domain.id)).body.status, (await verify(domain.id)).body.problem],
    ['pending_verification', 'There is no TXT record _platform.www.example.com'],
  );
  await control.sql`
    INSERT INTO control.webhook (id, organization_id, url, events, secret)
    VALUES ('whk_1', ${control.organizationId}, 'https://hooks.example/', '{domain.active}', '')`;
  txt.set(domain.verification.name, ['other', domain.verification.value]);
  const done = (await verify(domain.id)).body;
  await verify(domain.id);
  const told = await control.sql<{ body: { data: object } }[]>`SELECT body FROM control.webhook_delivery`;
  assert.deepEqual(
    told.map(({ body }) => body.data),
    [{ hostname: 'www.example.com' }],
  );
  assert.deepEqual([done.status, done.problem, done.certificate], ['active', null, null]);
  const other = (await control.call('POST', '/projects', { name: 'rival', organizationId: control.organizationId }))
    .body;
  const rival = (await control.call('POST', `/projects/${other.id}/domains`, { hostname: 'www.example.com' })).body;
  txt.set(rival.verification.name, [domain.verification.value, rival.verification.value]);
  assert.equal((await verify(rival.id)).status, 409);
  for (const hostname of [
    'localhost',
    'shop.localhost',
    '127.0.0.1',
    'no-dots',
    'a..b',
    '*.example.com',
    'x'.repeat(254),
  ])
    assert.ok([400, 422].includes((await control.call('POST', at, { hostname })).status), hostname);
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
    rows: rows.map(([kind, route, worst]) => ({
      project: 'near',
      deployment: 'd1',
      kind: kind as 'http',
      route,
      hour: new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000).toISOString(),
      invocations: worst.length,
      failures: 0,
      cpuMs: 1,
      hostCpuMs: 0,
      cpuMsMax: worst[0]![1],
      cpuCounts: [0, worst.length],
      costliest: worst.map(([of, cpuMs]) => ({ id: of, at: Date.now(), cpuMs, isFailure: false })),
    })),
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
  const parts = { ...control.parts, privatePort: { ...control.parts.privatePort, ask } };
  assert.equal(await takeUsage(parts, null), 'b1');
  assert.equal(await takeUsage(parts, 'b1'), 'b2');
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
  const stop = await control.parts.onNotify('control_route', heard.resolve);
  assert.equal((await control.call('PUT', at, { plan: 'pro' }, operator.token)).status, 200);
  assert.match(await heard.promise, /^prj_/);
  await stop();
  assert.equal(await version(), before + 1);
  assert.equal((await control.call('GET', `/orgs/${control.organizationId}`)).body.plan, 'pro');
  const { body } = await control.call('GET', '/plans');
  assert.equal(body.items.find(({ id }: { id: string }) => id === 'pro').cpuMs.http, 5000);
});

test('the audit log says who did what, a page at a time', async () => {
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
});

test('the operator reads how backups went and asks for one, where something makes them', async () => {
  const { folder } = control.parts;
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

test('the operator reads what the platform finds of its own health, a silent part as a finding', async () => {
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
    'memory',
  ]);
  assert.match(by.get('database')!.message, /^Postgres \d+\.\d+ answers in \d+ ms and holds \d+ MB$/);
  // No platform runs in this test.
  assert.equal(by.get('engines')!.status, 'fail');
  assert.match(by.get('engines')!.advice!, /API_HANDLER_URL/);
});
