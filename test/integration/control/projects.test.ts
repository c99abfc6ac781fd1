// Projects over the API, with a real database.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startControl, type TestControl } from '#test/setup/control.ts';

let control: TestControl;
before(async () => {
  control = await startControl();
});
after(() => control.close());

test('a project is made once and read by its id', async () => {
  const body = { name: 'shop', organizationId: control.organizationId };
  const made = await control.call('POST', '/projects', body);
  assert.equal(made.status, 201);
  assert.equal(made.body.name, 'shop');
  const read = await control.call('GET', `/projects/${made.body.id}`);
  assert.deepEqual(read.body, made.body);
  const again = await control.call('POST', '/projects', body);
  assert.deepEqual([again.status, again.body.code, again.body.message], [409, 'conflict', 'The name shop is taken']);
  assert.equal(again.headers.get('x-request-id'), again.body.requestId);
});

test('nobody and strangers learn nothing of a project', async () => {
  const { body } = await control.call('POST', '/projects', { name: 'quiet', organizationId: control.organizationId });
  const stranger = await control.account('eve', { [await control.organization('other')]: 'owner' });
  assert.equal((await control.call('GET', `/projects/${body.id}`, undefined, null)).status, 401);
  assert.equal((await control.call('GET', `/projects/${body.id}`, undefined, stranger.token)).status, 404);
});

test('the projects of all organizations are listed by their last deployment', async () => {
  const mine = await control.organization('alpha');
  const second = await control.organization('beta');
  const account = await control.account('lister', { [mine]: 'member', [second]: 'viewer' });
  const add = async (name: string, organizationId: string, days: number): Promise<string> => {
    const id = `prj_${name}`;
    await control.sql`
      INSERT INTO control.project (id, organization_id, name, created_at)
      VALUES (${id}, ${organizationId}, ${name}, '2026-01-01'::timestamptz + make_interval(days => ${days}))`;
    return id;
  };
  const deploy = async (id: string, projectId: string, days: number, status: string): Promise<void> => {
    await control.sql`
      INSERT INTO control.deployment (id, project_id, organization_id, status, target, branch, source, created_at)
      SELECT ${id}, id, organization_id, ${status}, 'production', 'main', 'push',
        '2026-01-01'::timestamptz + make_interval(days => ${days})
      FROM control.project WHERE id = ${projectId}`;
  };
  const old = await add('listedold', mine, 1);
  await deploy('dlisted1', old, 5, 'success');
  await deploy('dlisted2', old, 9, 'failure');
  await add('listedempty', second, 8);
  await deploy('dlisted3', await add('listednew', second, 2), 7, 'success');

  const list = async (query = ''): Promise<Awaited<ReturnType<typeof control.call>>['body']> =>
    (await control.call('GET', `/projects${query}`, undefined, account.token)).body;
  const told = ({ items }: Awaited<ReturnType<typeof list>>) =>
    items.map(({ name, lastDeployment }: { name: string; lastDeployment: { id: string; status: string } | null }) => [
      name,
      lastDeployment?.id ?? null,
      lastDeployment?.status ?? null,
    ]);
  const expected = [
    ['listedold', 'dlisted2', 'failure'],
    ['listedempty', null, null],
    ['listednew', 'dlisted3', 'success'],
  ];
  assert.deepEqual(told(await list()), expected);
  const first = await list('?limit=2');
  const rest = await list(`?limit=2&cursor=${first.nextCursor}`);
  assert.deepEqual([...told(first), ...told(rest)], expected);
  assert.equal(rest.nextCursor, null);
  assert.deepEqual(told(await list('?search=new')), [expected[2]]);
  assert.equal((await control.call('GET', '/projects', undefined, null)).status, 401);
});

test('the icons of live sites come in one response, to those who see the projects', async () => {
  const organizationId = await control.organization('iconic');
  const account = await control.account('viewer-of-icons', { [organizationId]: 'viewer' });
  const icon = Buffer.from('89504e470d0a1a0a00', 'hex');
  for (const [name, artifact] of [
    ['withicon', 'a'.repeat(64)],
    ['noicon', 'b'.repeat(64)],
  ] as const) {
    const assets = path.join(control.deps.folder, 'artifacts', artifact, 'assets');
    mkdirSync(assets, { recursive: true });
    if (name === 'withicon') writeFileSync(path.join(assets, 'favicon.png'), icon);
    await control.sql`
      INSERT INTO control.project (id, organization_id, name) VALUES (${`prj_${name}`}, ${organizationId}, ${name})`;
    await control.sql`
      INSERT INTO control.deployment (id, project_id, organization_id, status, target, branch, source, artifact)
      VALUES (${`d${name}`}, ${`prj_${name}`}, ${organizationId}, 'success', 'production', 'main', 'push', ${artifact})`;
    await control.sql`
      UPDATE control.project SET production_deployment_id = ${`d${name}`} WHERE id = ${`prj_${name}`}`;
  }
  const read = (token: string | null) => control.call('GET', '/projects/icons', undefined, token);
  assert.deepEqual((await read(account.token)).body, {
    items: [{ projectId: 'prj_withicon', icon: `data:image/png;base64,${icon.toString('base64')}` }],
  });
  const stranger = await control.account('mallory', { [await control.organization('strange')]: 'owner' });
  assert.deepEqual((await read(stranger.token)).body, { items: [] });
  assert.equal((await read(null)).status, 401);
});
