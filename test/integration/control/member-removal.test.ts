// What a member created is revoked or stays when the member leaves or gets a weaker role: the table in docs/sign-in.md.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { hashOf as hashOfAiToken } from '#core/ai-token.ts';
import { defaultLimits } from '#core/limits.ts';
import { createApi } from '#control/api/app.ts';
import { openGitPush, type GitPush } from '#control/git-push/git-push.ts';
import { newId } from '#control/records/ids.ts';
import { createTelemetryStore } from '#control/telemetry/store.ts';
import { startControl, type TestAccount, type TestControl } from '#test/setup/control.ts';

let control: TestControl;
let gitPush: GitPush;
let org: string;
let project: string;
before(async () => {
  control = await startControl({ limits: { ...defaultLimits.control, accessAgainMs: 0 } });
  gitPush = await openGitPush(control.deps);
  org = control.organizationId;
  project = (await control.call('POST', '/projects', { name: 'shop', organizationId: org })).body.id;
});
after(async () => {
  await gitPush.close();
  await control.close();
});

let count = 0;
const join = (role: 'admin' | 'member' = 'admin'): Promise<TestAccount> =>
  control.account(`kim-${++count}`, { [org]: role });
const at = ({ accountId }: TestAccount): string => `/orgs/${org}/members/${accountId}`;
const leave = async (who: TestAccount): Promise<void> =>
  assert.equal((await control.call('DELETE', at(who))).status, 204);
const become = async (who: TestAccount, role: string): Promise<void> =>
  assert.equal((await control.call('PATCH', at(who), { role })).status, 204);

async function made(path: string, body: object | undefined, who: TestAccount) {
  const answer = await control.call('POST', path, body, who.token);
  assert.ok(answer.status === 201, `${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}
const isAiToken = async (token: string): Promise<boolean> =>
  (await control.sql`SELECT 1 FROM control.ai_token WHERE hash = ${hashOfAiToken(token)}`).length === 1;
const isHook = async (url: string): Promise<boolean> => {
  const { status } = await control.call('POST', new URL(url).pathname, undefined, null);
  // 422: there is such a hook, and no repository.
  return status !== 404;
};
const hook = (who: TestAccount) => made(`/projects/${project}/deploy-hooks`, { name: 'cms', branch: 'main' }, who);

test('tokens for the organization are revoked; those of the account reach nothing of it', async () => {
  const kim = await join();
  const bound = (await made('/tokens', { name: 't', scope: 'read', organizationId: org }, kim)).token;
  const ofProject = (await made('/tokens', { name: 't', scope: 'read', projectId: project }, kim)).token;
  const read = async (token: string) => (await control.call('GET', `/projects/${project}`, undefined, token)).status;
  assert.deepEqual([await read(bound), await read(ofProject), await read(kim.token)], [200, 200, 200]);
  await leave(kim);
  assert.deepEqual([await read(bound), await read(ofProject), await read(kim.token)], [401, 401, 404]);
});

test('a session in a browser reaches nothing of it', async () => {
  const kim = await join();
  const deps = { ...control.deps, findSession: async () => ({ accountId: kim.accountId, tokenId: null }) };
  const read = async () =>
    (await createApi().fetch(new Request(`http://api/projects/${project}`, { headers: { cookie: 'session' } }), deps))
      .status;
  assert.equal(await read(), 200);
  await leave(kim);
  assert.equal(await read(), 404);
});

test('Git requests are refused', async () => {
  const kim = await join();
  const headers = { authorization: `Basic ${Buffer.from(`x:${kim.token}`).toString('base64')}` };
  const ask = async (service: string) =>
    (await gitPush.fetch(new Request(`http://api/git/shop.git/info/refs?service=${service}`, { headers })))!.status;
  assert.deepEqual([await ask('git-upload-pack'), await ask('git-receive-pack')], [200, 200]);
  await become(kim, 'viewer');
  assert.deepEqual([await ask('git-upload-pack'), await ask('git-receive-pack')], [200, 403]);
  await leave(kim);
  assert.deepEqual([await ask('git-upload-pack'), await ask('git-receive-pack')], [404, 404]);
});

test('tokens for platform dev end, also for a new viewer; admins list and revoke them', async () => {
  const [kim, lee, max] = [await join('member'), await join('member'), await join('member')];
  const path = `/orgs/${org}/ai/dev-token`;
  const tokens: string[] = [];
  for (const who of [kim, lee, max]) tokens.push((await made(path, undefined, who)).token);
  const alive = async () => [await isAiToken(tokens[0]!), await isAiToken(tokens[1]!), await isAiToken(tokens[2]!)];
  const { body: listed } = await control.call('GET', `/orgs/${org}/ai/dev-tokens`);
  assert.deepEqual(
    new Set(listed.map((one: { accountId: string }) => one.accountId)),
    new Set([kim.accountId, lee.accountId, max.accountId]),
  );
  assert.equal((await control.call('GET', `/orgs/${org}/ai/dev-tokens`, undefined, kim.token)).status, 403);
  await become(kim, 'viewer');
  assert.deepEqual(await alive(), [false, true, true]);
  await leave(lee);
  assert.deepEqual(await alive(), [false, false, true]);
  const [last] = (await control.call('GET', `/orgs/${org}/ai/dev-tokens`)).body;
  assert.equal((await control.call('DELETE', `/orgs/${org}/ai/dev-tokens/${last.id}`)).status, 204);
  assert.deepEqual(await alive(), [false, false, false]);
  const [event] = await control.sql<{ details: object }[]>`
    SELECT details FROM control.audit_event WHERE action = 'member.remove' AND subject_id = ${lee.accountId}`;
  assert.deepEqual((event!.details as { devTokens: number }).devTokens, 1);
});

test('keys of the AI gateway end, also for a former admin', async () => {
  const [kim, lee] = [await join(), await join()];
  const path = `/orgs/${org}/ai/keys`;
  const [one, two] = [(await made(path, { name: 'k' }, kim)).key, (await made(path, { name: 'k' }, lee)).key];
  const owners = (await control.call('POST', path, { name: 'k' })).body.key;
  await become(kim, 'member');
  assert.deepEqual([await isAiToken(one), await isAiToken(two), await isAiToken(owners)], [false, true, true]);
  await leave(lee);
  assert.deepEqual([await isAiToken(two), await isAiToken(owners)], [false, true]);
});

test('deploy hooks end, also for a new viewer', async () => {
  const [kim, lee] = [await join('member'), await join('member')];
  const [one, two] = [(await hook(kim)).url as string, (await hook(lee)).url as string];
  const owners = (await control.call('POST', `/projects/${project}/deploy-hooks`, { name: 'o', branch: 'main' })).body
    .url;
  assert.deepEqual([await isHook(one), await isHook(two), await isHook(owners)], [true, true, true]);
  await become(kim, 'viewer');
  assert.deepEqual([await isHook(one), await isHook(two)], [false, true]);
  await leave(lee);
  assert.deepEqual([await isHook(two), await isHook(owners)], [false, true]);
});

test('the preview bypass token ends', async () => {
  const kim = await join('member');
  await made(`/projects/${project}/preview-bypass`, undefined, kim);
  const has = async () => (await control.call('GET', `/projects/${project}`)).body.settings.hasPreviewBypass;
  assert.equal(await has(), true);
  await leave(kim);
  assert.equal(await has(), false);
});

test('invitations end, also of a former admin', async () => {
  const [kim, lee] = [await join(), await join()];
  await made(`/orgs/${org}/invitations`, { login: 'second-self', role: 'admin' }, kim);
  await made(`/orgs/${org}/invitations`, { login: 'another', role: 'admin' }, lee);
  const logins = async () =>
    (await control.call('GET', `/orgs/${org}/invitations`)).body.items.map(({ login }: { login: string }) => login);
  assert.deepEqual(await logins(), ['another', 'second-self']);
  await leave(kim);
  assert.deepEqual(await logins(), ['another']);
  await become(lee, 'member');
  assert.deepEqual(await logins(), []);
});

test('a followed log is closed', async () => {
  const kim = await join();
  const response = await control.fetch(
    new Request(`${control.deps.addresses.api}/projects/${project}/logs/stream`, {
      headers: { authorization: `Bearer ${kim.token}`, accept: 'text/event-stream' },
    }),
  );
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  assert.deepEqual(await reader.read(), { done: false, value: ': lines\n\n' });
  await leave(kim);
  // A new line is not sent to the former member.
  await write('for members alone');
  await control.sql`SELECT pg_notify('control_telemetry', ${project})`;
  assert.deepEqual(await reader.read(), { done: true, value: undefined });
});

async function write(text: string): Promise<void> {
  const record = {
    record: 'line',
    project: 'shop',
    deployment: 'd000000000000',
    at: Date.now(),
    level: 'info',
    text,
    kind: 'http',
    route: '/',
    invocation: 'i1',
    traceId: null,
  };
  const kept = await createTelemetryStore({ sql: control.sql }).keep({
    id: newId('upload'),
    records: JSON.stringify(record),
    lost: 0,
  });
  assert.deepEqual([...(kept ?? [])], [project]);
}

test('webhooks, drains and variables stay, and other members can change them', async () => {
  const kim = await join();
  const url = 'https://hooks.example.com/';
  const webhook = await made(`/orgs/${org}/webhooks`, { url, events: ['deployment.created'] }, kim);
  const drain = await made(`/projects/${project}/drains`, { name: 'd', target: { kind: 'http', url } }, kim);
  const variable = await made(`/environment-variables/${project}`, { key: 'K', value: 'v' }, kim);
  await leave(kim);
  const change = async (path: string, body: object) => (await control.call('PATCH', path, body)).status;
  assert.equal(await change(`/orgs/${org}/webhooks/${webhook.id}`, { enabled: false }), 200);
  assert.equal(await change(`/projects/${project}/drains/${drain.id}`, { enabled: false }), 200);
  assert.equal(await change(`/environment-variables/${project}/${variable.id}`, { value: 'w' }), 200);
});

test('leaving an organization revokes the same as removal', async () => {
  const kim = await join('member');
  const { url } = await hook(kim);
  assert.equal((await control.call('POST', `/orgs/${org}/leave`, undefined, kim.token)).status, 204);
  assert.equal(await isHook(url), false);
});

test('an organization that is deleted leaves no key and no invitation', async () => {
  const { body: other } = await control.call('POST', '/orgs', { name: 'Short lived' });
  const { body: gone } = await control.call('POST', '/projects', { name: 'gone', organizationId: other.id });
  const { key } = (await control.call('POST', `/orgs/${other.id}/ai/keys`, { name: 'k' })).body;
  await control.call('POST', `/orgs/${other.id}/invitations`, { login: 'late', role: 'admin' });
  assert.equal((await control.call('DELETE', `/projects/${gone.id}?name=gone`)).status, 204);
  assert.equal((await control.call('DELETE', `/orgs/${other.id}?slug=${other.slug}`)).status, 204);
  assert.equal(await isAiToken(key), false);
  assert.equal((await control.sql`SELECT 1 FROM control.invitation WHERE organization_id = ${other.id}`).length, 0);
});
