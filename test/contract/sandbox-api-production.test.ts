// The API over sandboxes, asked through the control plane; who may, and what the audit log says.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startResourceApi, type TestResourceApi } from '#test/setup/resource-api.ts';
import { until } from '#test/setup/until.ts';
import { keepsToSandboxApi } from './sandbox-api.ts';

const project = {
  'platform.yaml': 'name: shop\nsandbox: {BOX: boxes}\n',
  'src/index.ts': `export default { fetch: () => new Response('ok') };\n`,
};

let it: TestResourceApi;
before(async () => {
  it = await startResourceApi(project, { stores: false });
});
after(() => it.close());

keepsToSandboxApi(
  (...asked) => it.ask(...asked),
  (...asked) => it.open(...asked),
);

test('calls for sandboxes need their permission, and leave names, not commands; a preview has its own', async () => {
  const { body: made } = await it.all.control.call('POST', '/tokens', {
    name: 'look at boxes',
    scope: 'read',
    projectId: it.projectId,
  });
  const asReader = it.asked(made.token);
  const box = '/sandboxes/BOX/audited';
  const run = { command: 'echo hunter2', env: { KEY: 'hunter2' } };
  assert.equal((await asReader('POST', `${box}/exec`, run)).status, 403);
  assert.equal((await asReader('GET', '/sandboxes/BOX')).status, 200);
  assert.equal((await asReader('DELETE', box)).status, 403);
  assert.equal((await it.ask('POST', `${box}/exec`, run)).body.stdout, 'hunter2\n');
  assert.equal((await it.ask('GET', `${box}/files`)).status, 200);
  await it.ask('PUT', `${box}/files/content?path=a/b`, Buffer.from('hunter2'));
  assert.equal((await it.ask('POST', `${box}/snapshot?snapshot=kept`)).status, 200);
  assert.equal((await it.ask('POST', `${box}/ports`, { port: 8080, auth: 'public' })).status, 200);
  assert.equal((await it.ask('DELETE', `${box}/ports/8080`)).status, 204);
  for (const [method, path, body] of [
    ['PUT', box, {}],
    ['POST', `${box}/snapshot`, undefined],
    ['POST', `${box}/fork?to=other`, undefined],
    ['DELETE', '/sandbox-snapshots/BOX/kept', undefined],
    ['POST', `${box}/ports`, { port: 8080 }],
    ['DELETE', `${box}/ports/8080`, undefined],
  ] as const)
    assert.equal((await asReader(method, path, body)).status, 403, `${method} ${path}`);
  assert.equal((await asReader('GET', '/sandbox-snapshots/BOX')).status, 200);
  assert.equal((await asReader('GET', `${box}/ports`)).status, 200);
  assert.equal((await it.ask('DELETE', '/sandbox-snapshots/BOX/kept')).status, 204);
  assert.equal((await it.ask('POST', `${box}/exec`, { command: 'x', cwd: 'none' })).status, 404);
  const gone = new AbortController();
  const lost = it.open('POST', `${box}/exec`, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ command: 'echo > began; sleep 60' }),
    signal: gone.signal,
  });
  await until(async () => (await it.ask('GET', `${box}/files/content?path=began`)).status === 200);
  gone.abort();
  await lost;
  const rows = await it.all.control.sql<{ action: string; subject: string; details: Record<string, unknown> }[]>`
    SELECT action, subject_kind || ' ' || subject_id AS subject, details FROM control.audit_event
    WHERE action LIKE 'data.sandbox.%' AND details->>'name' = 'audited' ORDER BY seq`;
  assert.deepEqual(
    rows.map(({ action, subject, details: { accountId: _by, ...details } }) => [action, subject, details]),
    [
      ['data.sandbox.exec', 'sandbox BOX', { target: 'production', name: 'audited' }],
      ['data.sandbox.writeFile', 'sandbox BOX', { target: 'production', name: 'audited', path: 'a/b' }],
      ['data.sandbox.snapshot', 'sandbox BOX', { target: 'production', name: 'audited', snapshot: 'kept' }],
      [
        'data.sandbox.exposePort',
        'sandbox BOX',
        { target: 'production', name: 'audited', port: '8080', auth: 'public' },
      ],
      ['data.sandbox.unexposePort', 'sandbox BOX', { target: 'production', name: 'audited', port: '8080' }],
      ['data.sandbox.exec', 'sandbox BOX', { target: 'production', name: 'audited' }],
    ],
  );
  const { 'src/index.ts': code, 'platform.yaml': yaml } = project;
  const { status } = await it.all.deploy(it.projectId, { code: `${code}\n// preview`, yaml }, 'feature/Boxes');
  assert.equal(status, 'success');
  const preview = `${box}/exec?branch=${encodeURIComponent('feature/Boxes')}`;
  assert.equal((await it.ask('POST', preview, { command: 'ls' })).body.stdout, '');
  assert.match(it.service.asked.at(-1)!, /^\/v1\/projects\/shop\/sandboxes\/boxes~~feature-boxes[^/]*\/audited\/exec$/);
});

test('without a sandbox service calls say which variables name it', async () => {
  const deps = { ...it.all.control.deps, sandboxes: null };
  const headers = { authorization: `Bearer ${it.all.control.owner.token}` };
  const answer = await it.fetch('/sandboxes/BOX', { headers }, deps);
  const { code, message } = (await answer.json()) as Record<string, string>;
  assert.deepEqual(
    [answer.status, code, message],
    [
      503,
      'binding_unavailable',
      'sandbox bindings are not available: no sandbox service is configured: set SANDBOX_URL and SANDBOX_AUTH_TOKEN',
    ],
  );
});
