// Projects, their variables, deployments and domains over a real database: what the API answers, what it refuses, what
// is never shown.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { encryptionKeys, unseal } from '#core/encryption.ts';
import { isPreviewBypass, isPreviewPassword } from '#core/preview-access.ts';
import { variableContext } from '#core/variable-context.ts';
import { createApi } from '#control/api/app.ts';
import { writeRoute } from '#control/releases/project-routes.ts';
import { newDeploymentId } from '#control/records/ids.ts';
import { readRoute } from '#artifacts/route-records.ts';
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
  await writeRoute(control.deps, projectId);
  const { protection } = readRoute(control.deps.folder, 'shop')!;
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
  assert.equal(unseal(control.deps.keys, row!.value, context), 'hunter2-value');
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
  assert.match((await control.call('POST', at, { variables: [long] })).body.message, /5122 bytes, the limit is 5120/);
});

test('a member sets plaintext, and secrets are for admins', async () => {
  const member = await control.account('mel', { [control.organizationId]: 'member' });
  const at = `/environment-variables/${projectId}`;
  const secret = await control.call('POST', at, { key: 'BY_MEMBER', value: 'x' }, member.token);
  assert.deepEqual([secret.status, secret.body.message], [403, 'This requires the permission secret:write']);
  const plain = await control.call('POST', at, { key: 'BY_MEMBER', value: 'x', kind: 'plaintext' }, member.token);
  assert.equal(plain.status, 201);
  const over = { variables: [{ key: 'API_KEY', value: 'mine', kind: 'plaintext' }] };
  assert.equal((await control.call('POST', `${at}/import`, over, member.token)).status, 403);
});

test('after a new key variables are sealed under it, and the earlier one can go', async () => {
  const operator = await control.account('root');
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${operator.accountId}`;
  const [before, later] = ['0123456789abcdef0123456789abcdef', 'fedcba9876543210fedcba9876543210'];
  const deps = { ...control.deps, keys: encryptionKeys(`${later},${before}`) };
  const api = createApi();
  const reseal = async () => {
    const headers = { authorization: `Bearer ${operator.token}` };
    const answer = await api.fetch(new Request('http://x/operator/reseal', { method: 'POST', headers }), deps);
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
  const response = await createApi().fetch(request, control.deps);
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
  assert.match(domain.note, /This platform issues no certificates/);
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
