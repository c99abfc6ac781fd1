// Releases from an upload to what answers, with real engines: what is served when the pointer moves, and what happens
// to requests meanwhile.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { seal } from '#core/encryption.ts';
import { variableContext } from '#core/variable-context.ts';
import { createDeployment } from '#control/releases/create-deployment.ts';
import { approveDeployment } from '#control/git-host/approval.ts';
import { newId } from '#control/records/ids.ts';
import { readRoute } from '#artifacts/route-records.ts';
import { until } from '#test/setup/until.ts';
import { startReleaseControl, type DeployedSource, type ReleaseControl } from '#test/setup/release-control.ts';

let all: ReleaseControl;
before(async () => {
  all = await startReleaseControl({}, {}, { engines: 2 });
});
after(() => all.close());

const worker = (says: string): DeployedSource => ({
  code: `export default { fetch: (request, env) => new Response('${says} ' + JSON.stringify(env.vars)) };`,
});

/** Answers statements with their rows. */
const database = (migrations: Readonly<Record<string, string>>): DeployedSource => ({
  code: `export default { async fetch(request, { DB }) {
    try { return Response.json((await DB.prepare(await request.text()).all()).results); }
    catch (error) { return new Response(error.message, { status: 500 }); }
  } };`,
  yaml: 'db:\n  DB: orders\n',
  files: Object.fromEntries(Object.entries(migrations).map(([name, sql]) => [`migrations/${name}`, sql])),
});

async function setVariable(projectId: string, scope: string, key: string, value: string): Promise<void> {
  const { sql, deps } = all.control;
  const sealed = seal(deps.keys, value, variableContext({ projectId, scope, branch: '', key }));
  await sql`
    INSERT INTO control.variable (id, project_id, key, scope, kind, value)
    VALUES (${newId('variable')}, ${projectId}, ${key}, ${scope}, 'plaintext', ${sealed})
    ON CONFLICT (project_id, scope, branch, key) DO UPDATE SET value = ${sealed}`;
}

const says = async (host: string): Promise<string> => (await all.platform.fetch(host)).text;
const query = async (host: string, sql: string): Promise<string> =>
  (await all.platform.fetch(host, '/', { method: 'POST', body: sql })).text;

test('an upload is released: production answers, and its URL, and the log says each step', async () => {
  const shop = await all.project('shop');
  const first = await all.deploy(shop, worker('one'));
  assert.equal(first.status, 'success', `${first.reason}: ${first.error_message}`);
  assert.equal(await says('shop'), 'one {}');
  assert.equal(await says(`shop--${first.id}`), 'one {}');
  const log = await all.log(first.id);
  assert.match(log[0]!, /^upload Received 3 files, \d+ bytes: artifact [0-9a-f]{12}$/);
  assert.deepEqual(log.slice(1), [
    'release The worker has started on all engines',
    'release Production now serves this deployment',
  ]);
});

test('a service is called on every engine, in the same branch if it is there; a missing project is refused', async () => {
  const front: DeployedSource = {
    code: `export default { async fetch(request, env) {
      try { return new Response(await env.BACK.says()); }
      catch ({ code }) { return new Response(code); }
    } };`,
    yaml: 'service: { BACK: back-office }\nobject: { DESK: { class: Desk, project: back-office } }\n',
  };
  const back = (text: string): DeployedSource => ({
    code: `import { WorkerEntrypoint } from 'cloudflare:workers';
      export default class extends WorkerEntrypoint { says() { return '${text}'; } }`,
  });
  const frontId = await all.project('front-office');
  const refused = await all.deploy(frontId, front);
  assert.deepEqual([refused.status, refused.reason], ['failure', 'artifact_invalid']);
  assert.match(
    refused.error_message!,
    /no project for these services and objects: BACK: back-office, DESK: back-office/,
  );
  const backId = await all.project('back-office');
  assert.equal((await all.deploy(frontId, front)).status, 'success');
  assert.equal(await says('front-office'), 'service_not_found');
  assert.equal((await all.deploy(backId, back('production'))).status, 'success');
  const spoken = await Promise.all(Array.from({ length: 12 }, () => says('front-office')));
  assert.deepEqual(new Set(spoken), new Set(['production']));
  assert.equal((await all.deploy(frontId, front, 'next')).status, 'success');
  assert.equal(await says('front-office--next'), 'production');
  assert.equal((await all.deploy(backId, back('next'), 'next')).status, 'success');
  assert.equal(await says('front-office--next'), 'next');
  assert.equal(await says('front-office'), 'production');
});

test('the log of a project that calls models says what is missing for them', async () => {
  const id = await all.project('models');
  const said = async (): Promise<string[]> => {
    const made = await all.deploy(id, { ...worker('ai'), yaml: 'ai: true\n' });
    return (await all.log(made.id)).filter((line) => line.startsWith('release AI: '));
  };
  const { deps } = all.control;
  const { operatorAi } = deps;
  assert.deepEqual(await said(), []);
  Object.assign(deps, { operatorAi: { kinds: [], auto: [] } });
  const [line] = await said();
  assert.match(line!, /^release AI: No AI provider is set up: the operator sets AI_PROVIDER_<NAME>_KEY and AI_AUTO/);
  Object.assign(deps, { operatorAi });
});

test('no request fails during deploys, promotes and rollbacks, and each is served when it is answered', async () => {
  const busy = await all.project('busy');
  const first = await all.deploy(busy, worker('v0'));
  let over = false;
  const failures: string[] = [];
  let count = 0;
  const load = async (): Promise<void> => {
    while (!over) {
      count++;
      try {
        const { status, text } = await all.platform.fetch('busy');
        if (status !== 200 || !/^v\d \{\}$/.test(text)) failures.push(`${status} ${text}`);
      } catch (error) {
        failures.push((error as Error).message);
      }
    }
  };
  const loads = [load(), load(), load(), load()];
  const deployed = [first];
  for (const version of ['v1', 'v2']) {
    deployed.push(await all.deploy(busy, worker(version)));
    assert.equal(await says('busy'), `${version} {}`);
  }
  const promoted = await all.control.call('POST', `/projects/${busy}/promote`, { deploymentId: first.id });
  assert.deepEqual([promoted.status, promoted.body.routed], [200, true], JSON.stringify(promoted.body));
  assert.equal(await says('busy'), 'v0 {}');
  for (const expected of ['v2', 'v1']) {
    const back = await all.control.call('POST', `/projects/${busy}/rollback`, {});
    assert.equal(back.status, 200, JSON.stringify(back.body));
    assert.equal(await says('busy'), `${expected} {}`);
  }
  const none = await all.control.call('POST', `/projects/${busy}/rollback`, {});
  assert.deepEqual([none.status, none.body.code], [409, 'conflict'], JSON.stringify(none.body));
  over = true;
  await Promise.all(loads);
  assert.deepEqual(failures, []);
  assert.ok(count > 50, `${count} requests`);
});

test('a worker that does not start, or an artifact that is gone, leaves what is live untouched', async () => {
  const id = await all.project('careful');
  await all.deploy(id, worker('good'));
  const failed = await all.deploy(id, { code: 'const a = null; a.b; export default { fetch() {} };' });
  assert.deepEqual([failed.status, failed.reason], ['failure', 'worker_start_failed']);
  assert.match(failed.error_message!, /Cannot read properties of null/);
  assert.doesNotMatch(failed.error_message!, /platform:/);
  assert.equal(await says('careful'), 'good {}');
  await until(async () => (await all.platform.fetch(`careful--${failed.id}`)).status === 404);
});

test('a preview has variables of its own until it is promoted, and a rollback has those of before', async () => {
  const id = await all.project('vars');
  await setVariable(id, 'production', 'KEY', 'secret');
  await setVariable(id, 'preview', 'KEY', 'test');
  const main = await all.deploy(id, worker('main'));
  const login = await all.deploy(id, worker('login'), 'login');
  assert.equal(await says('vars'), 'main {"KEY":"secret"}');
  assert.equal(await says('vars--login'), 'login {"KEY":"test"}');
  await setVariable(id, 'production', 'KEY', 'changed');
  await all.control.sql`UPDATE control.project SET route_version = route_version + 1 WHERE id = ${id}`;
  const promoted = await all.control.call('POST', `/deployments/${login.id}/promote`, {});
  assert.equal(promoted.status, 200, JSON.stringify(promoted.body));
  assert.equal(promoted.body.previousDeploymentId, main.id);
  assert.equal(await says('vars'), 'login {"KEY":"changed"}');
  const back = await all.control.call('POST', `/projects/${id}/rollback`, { deploymentId: main.id });
  assert.equal(back.status, 200, JSON.stringify(back.body));
  assert.equal(await says('vars'), 'main {"KEY":"secret"}');
  assert.equal(await says('vars--login'), 'login {"KEY":"test"}');
});

test('migrations run before the switch, a failure names its file and changes nothing that is live', async () => {
  const id = await all.project('data');
  const first = await all.deploy(id, database({ '1.sql': 'CREATE TABLE t (a); INSERT INTO t VALUES (1);' }));
  assert.equal(first.status, 'success', `${first.reason}: ${first.error_message}`);
  assert.equal(await query('data', 'SELECT a FROM t'), '[{"a":1}]');
  assert.ok((await all.log(first.id)).includes('migrate orders: applied 1.sql'));
  const failed = await all.deploy(
    id,
    database({ '1.sql': 'CREATE TABLE t (a); INSERT INTO t VALUES (1);', '2.sql': 'ALTER TABLE nothing ADD b;' }),
  );
  assert.deepEqual([failed.status, failed.reason], ['failure', 'migration_failed']);
  assert.match(failed.error_message!, /2\.sql/);
  assert.equal(await query('data', 'SELECT a FROM t'), '[{"a":1}]');
});

test('promoting a preview applies its migrations to production, and asks where what serves may break', async () => {
  const id = await all.project('promoted');
  const one = { '1.sql': 'CREATE TABLE t (a); INSERT INTO t VALUES (1);' };
  const main = await all.deploy(id, database(one));
  const tried = await all.deploy(id, database(one), 'rename');
  const preview = await all.deploy(id, database({ ...one, '2.sql': 'ALTER TABLE t RENAME COLUMN a TO b;' }), 'rename');
  assert.equal(preview.status, 'success', `${preview.reason}: ${preview.error_message}`);
  assert.equal(await query('promoted--rename', 'SELECT b FROM t'), '[{"b":1}]');
  assert.equal(await query('promoted', 'SELECT a FROM t'), '[{"a":1}]');
  await setVariable(id, 'production', 'KEY', 'secret');
  const { body: before } = await all.control.call('GET', `/deployments/${preview.id}/promotion`);
  assert.deepEqual(before, {
    way: 'promote',
    objection: null,
    liveDeploymentId: main.id,
    urls: ['http://promoted.localhost:4001'],
    commits: [],
    direction: 'add',
    variables: { added: ['KEY'], changed: [], removed: [] },
    migrations: [{ resource: 'orders', files: ['2.sql'] }],
    risky: ['2.sql: ALTER TABLE t RENAME COLUMN a TO b'],
    release: null,
    migrationsSince: [],
  });
  assert.equal(await query('promoted', 'SELECT a FROM t'), '[{"a":1}]');
  const asked = await all.control.call('POST', `/projects/${id}/promote`, { deploymentId: preview.id });
  assert.deepEqual([asked.status, asked.body.code], [409, 'confirmation_needed'], JSON.stringify(asked.body));
  assert.match(asked.body.message, /2\.sql: ALTER TABLE t RENAME COLUMN a TO b.*orders: 2\.sql/);
  assert.equal(await query('promoted', 'SELECT a FROM t'), '[{"a":1}]');
  const done = await all.control.call('POST', `/projects/${id}/promote`, { deploymentId: preview.id, confirm: true });
  assert.equal(done.status, 200, JSON.stringify(done.body));
  assert.deepEqual(done.body.migrations, [{ resource: 'orders', files: ['2.sql'] }]);
  assert.equal(await query('promoted', 'INSERT INTO t VALUES (2) RETURNING b'), '[{"b":2}]');
  for (const [sha, { id: of }] of [
    ['a'.repeat(40), main],
    ['b'.repeat(40), tried],
    ['c'.repeat(40), preview],
  ] as const)
    await all.control.sql`UPDATE control.deployment SET commit_sha = ${sha} WHERE id = ${of}`;
  const { body: way } = await all.control.call('GET', `/deployments/${main.id}/promotion`);
  // What never was production is not lost by going back.
  assert.deepEqual(
    way.commits.map(({ sha }: { sha: string }) => sha),
    ['c'.repeat(40)],
  );
  assert.deepEqual([way.way, way.direction, way.variables.removed], ['rollback', 'remove', ['KEY']]);
  assert.deepEqual(way.migrationsSince, [{ deploymentId: preview.id, resource: 'orders', files: ['2.sql'] }]);
  const back = await all.control.call('POST', `/projects/${id}/rollback`, {});
  assert.equal(back.status, 200, JSON.stringify(back.body));
  assert.equal(back.body.productionDeploymentId, main.id);
  assert.deepEqual(back.body.migrationsSince, [{ deploymentId: preview.id, resource: 'orders', files: ['2.sql'] }]);
  assert.match(back.body.warnings[0], /The schema is newer than this deployment/);
  assert.match(await query('promoted', 'SELECT a FROM t'), /no such column: a/);
});

test('a rollback puts the databases back to the copy from before the migrations, where that is confirmed', async () => {
  const id = await all.project('restored');
  const one = { '1.sql': 'CREATE TABLE t (a); INSERT INTO t VALUES (1);' };
  const first = await all.deploy(id, database(one));
  const second = await all.deploy(id, database({ ...one, '2.sql': 'DROP TABLE t; CREATE TABLE u (a);' }));
  assert.equal(second.status, 'success', `${second.reason}: ${second.error_message}`);
  assert.match(await query('restored', 'SELECT a FROM t'), /no such table/);
  const asked = await all.control.call('POST', `/projects/${id}/rollback`, { restoreDatabase: true });
  assert.deepEqual([asked.status, asked.body.code], [409, 'confirmation_needed'], JSON.stringify(asked.body));
  const back = await all.control.call('POST', `/projects/${id}/rollback`, { restoreDatabase: true, confirm: true });
  assert.equal(back.status, 200, JSON.stringify(back.body));
  assert.deepEqual([back.body.productionDeploymentId, back.body.restored], [first.id, ['orders']]);
  assert.equal(await query('restored', 'SELECT a FROM t'), '[{"a":1}]');
});

test('a branch that is removed takes its deployments and its data along, counted', async () => {
  const id = await all.project('branches');
  const one = { '1.sql': 'CREATE TABLE t (a);' };
  await all.deploy(id, database(one));
  const preview = await all.deploy(id, database(one), 'feature/x');
  assert.equal(await query(`branches--${preview.id}`, 'SELECT a FROM t'), '[]');
  const refused = await all.control.call('DELETE', `/projects/${id}/branches?branch=main`);
  assert.deepEqual([refused.status, refused.body.code], [409, 'conflict'], JSON.stringify(refused.body));
  const removed = await all.control.call('DELETE', `/projects/${id}/branches?branch=feature%2Fx`);
  assert.equal(removed.status, 200, JSON.stringify(removed.body));
  assert.deepEqual([removed.body.deployments, removed.body.removed.databases], [1, 1]);
  assert.equal((await all.platform.fetch(`branches--${preview.id}`)).status, 404);
  const again = await all.control.call('DELETE', `/projects/${id}/branches?branch=feature%2Fx`);
  assert.equal(again.status, 404, JSON.stringify(again.body));
  const back = await all.deploy(id, database(one), 'feature/x');
  assert.equal(back.status, 'success', `${back.reason}: ${back.error_message}`);
});

test('an older deployment of a branch never replaces a newer one', async () => {
  const id = await all.project('order');
  const [first, second] = [await all.pack(worker('first')), await all.pack(worker('second'))];
  const { sql } = all.control;
  const newer = await all.upload(id, second);
  await all.ended(newer);
  // The other was made before it, and its build took longer.
  await sql`UPDATE control.deployment SET created_at = now() + interval '1 hour' WHERE id = ${newer}`;
  const end = await all.ended(await all.upload(id, first));
  assert.deepEqual([end.status, end.reason], ['canceled', 'superseded']);
  assert.equal(await says('order'), 'second {}');
});

test('a split gives production to another deployment in parts, and ends', async () => {
  const id = await all.project('parts');
  const main = await all.deploy(id, worker('main'));
  const other = await all.deploy(id, worker('other'), 'other');
  const half = await all.control.call('POST', `/projects/${id}/split`, { deploymentId: other.id, percent: 50 });
  assert.deepEqual([half.status, half.body.productionDeploymentId], [200, main.id], JSON.stringify(half.body));
  const seen = new Set<string>();
  for (let tries = 0; seen.size < 2 && tries < 200; tries++) seen.add(await says('parts'));
  assert.deepEqual([...seen].sort(), ['main {}', 'other {}']);
  const ended = await all.control.call('POST', `/projects/${id}/split`, { deploymentId: other.id, percent: 0 });
  assert.equal(ended.status, 200);
  assert.equal(await says('parts'), 'main {}');
  const whole = await all.control.call('POST', `/projects/${id}/split`, { deploymentId: other.id, percent: 100 });
  assert.equal(whole.body.productionDeploymentId, other.id, JSON.stringify(whole.body));
  assert.equal(await says('parts'), 'other {}');
});

test('previews want their password, programs their token, and production neither', async () => {
  const id = await all.project('guarded');
  await all.deploy(id, worker('open'));
  const preview = await all.deploy(id, worker('hidden'), 'hidden');
  const changed = await all.control.call('PATCH', `/projects/${id}`, { previewPassword: 'open sesame' });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  const made = await all.control.call('POST', `/projects/${id}/preview-bypass`);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await until(async () => (await all.platform.fetch('guarded--hidden')).status === 401);
  assert.equal((await all.platform.fetch(`guarded--${preview.id}`)).status, 401);
  assert.equal(await says('guarded'), 'open {}');
  const headers = { 'x-platform-protection-bypass': made.body.token as string };
  await until(async () => (await all.platform.fetch('guarded--hidden', '/', { headers })).text === 'hidden {}');
});

test('a change of variables reaches what is live by itself, where the project wants that', async () => {
  const id = await all.project('rolling');
  const first = await all.deploy(id, worker('same'));
  const body = { key: 'KEY', value: 'one', kind: 'plaintext' };
  assert.equal((await all.control.call('POST', `/environment-variables/${id}`, body)).status, 201);
  // Until it is released again, it has what it had.
  assert.equal(await says('rolling'), 'same {}');
  await all.control.call('PATCH', `/projects/${id}`, { redeployOnVariables: true });
  const second = { key: 'OTHER', value: 'two', kind: 'plaintext' };
  assert.equal((await all.control.call('POST', `/environment-variables/${id}`, second)).status, 201);
  await until(async () => (await says('rolling')) === 'same {"KEY":"one","OTHER":"two"}');
  assert.equal(await says(`rolling--${first.id}`), 'same {}');
});

test("a fork's preview begins without production's content and without variables, and is never promoted", async () => {
  const { sql, deps } = all.control;
  const forked = await all.project('forked');
  await setVariable(forked, 'preview', 'KEY', 'of previews');
  const source = database({ '1.sql': 'CREATE TABLE orders (id INTEGER)' });
  const code = source.code.replace(
    'try {',
    "if (request.method === 'GET') return Response.json(env.vars); const { DB } = env; try {",
  );
  const told = { ...source, code: code.replace('fetch(request, { DB })', 'fetch(request, env)') };
  await all.deploy(forked, told);
  assert.equal(await query('forked', 'INSERT INTO orders VALUES (1) RETURNING id'), '[{"id":1}]');
  const topic = await all.deploy(forked, told, 'topic');
  assert.equal(await query('forked--topic', 'SELECT id FROM orders'), '[{"id":1}]');
  assert.equal(await says('forked--topic'), '{"KEY":"of previews"}');

  const [repositoryId, commit] = [newId('repository'), 'a'.repeat(40)];
  await sql`INSERT INTO control.repository (id, organization_id, source, full_name, url)
    VALUES (${repositoryId}, ${all.control.organizationId}, 'git-host', 'acme/forked', '')`;
  await sql`UPDATE control.project SET repository_id = ${repositoryId} WHERE id = ${forked}`;
  const fork = await createDeployment(deps, {
    projectId: forked,
    branch: 'main',
    commit,
    pullRequest: 3,
    isFork: true,
    source: 'pull_request',
    createdBy: null,
  });
  await approveDeployment(deps, fork.id, all.control.owner.accountId);
  // As its build leaves it.
  await sql`DELETE FROM control.job WHERE deployment_id = ${fork.id}`;
  await sql`UPDATE control.deployment SET status = 'uploading',
      artifact = (SELECT artifact FROM control.deployment WHERE id = ${topic.id}) WHERE id = ${fork.id}`;
  await sql`INSERT INTO control.job (kind, deployment_id, project_id, branch)
    VALUES ('release', ${fork.id}, ${forked}, 'pull:3')`;
  await sql.notify('control_job', 'release');
  assert.equal((await all.ended(fork.id)).status, 'success');
  assert.equal(await query(`forked--${fork.id}`, 'SELECT id FROM orders'), '[]');
  assert.equal(await says(`forked--${fork.id}`), '{}');
  const promoted = await all.control.call('POST', `/deployments/${fork.id}/promote`, {});
  assert.deepEqual([promoted.status, promoted.body.code], [409, 'conflict']);
});

test('open pages are served by their deployment after a release and a promotion, by nothing that a rollback left', async () => {
  const open = await all.project('open');
  const asks = async ({ id }: { id: string }): Promise<string> =>
    (await all.platform.fetch('open', '/', { headers: { 'x-deployment-id': id } })).text;
  const supersededAt = ({ id }: { id: string }): string | undefined =>
    readRoute(all.platform.folder, 'open')!.deployments[id]!.supersededAt;
  const one = await all.deploy(open, worker('one'));
  assert.equal(supersededAt(one), undefined);
  const two = await all.deploy(open, worker('two'));
  assert.deepEqual([await asks(one), await asks(two)], ['one {}', 'two {}']);
  const first = supersededAt(one);
  assert.ok(first !== undefined && Math.abs(Date.parse(first) - Date.now()) < 600_000, first);

  assert.equal((await all.control.call('POST', `/projects/${open}/promote`, { deploymentId: one.id })).status, 200);
  assert.deepEqual([await asks(one), await asks(two), await says('open')], ['one {}', 'two {}', 'one {}']);

  assert.equal((await all.control.call('POST', `/projects/${open}/rollback`, {})).status, 200);
  assert.deepEqual([await asks(one), await asks(two), await says('open')], ['two {}', 'two {}', 'two {}']);
  assert.equal(supersededAt(one), undefined);
});
