// What the release of a deployment asks of the platform over its private port: starts ahead of the first request,
// migrations before the switch, snapshots, and the end of a branch. A supervisor with its engines keeps to it, and so
// does the platform in a test's process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeploymentRecord, RouteRecord } from '#core/manifest.ts';
import { asProduction } from '#artifacts/publish.ts';
import { changeRoute, removeRoute } from '#artifacts/route-records.ts';
import type { PlatformHere } from '#test/setup/platform-here.ts';
import { until } from '#test/setup/until.ts';

const yaml = 'db: { DB: guests }\nstate: { KV: kept }\n';
const worker = `
let starts = 0;
console.log('started', ++starts);
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === '/put') { await env.KV.put('a', '1'); await env.KV.put('b', '1'); }
    if (pathname === '/add') await env.DB.prepare("INSERT INTO guests (name) VALUES ('ada')").run();
    if (pathname.startsWith('/count') || pathname === '/add')
      return Response.json((await env.DB.prepare('SELECT count(*) AS n FROM guests').first('n')));
    return new Response('here');
  },
};`;
const first = { 'migrations/0001_guests.sql': 'CREATE TABLE guests (name TEXT);' };
const second = { ...first, 'migrations/0002_mail.sql': 'ALTER TABLE guests ADD COLUMN mail TEXT;' };
const broken = { ...first, 'migrations/0002_mail.sql': 'SELECT 1;\nALTER TABLE nobody ADD COLUMN mail TEXT;' };

/** Variables of the platform that is asked: so many snapshots stay. */
export const privatePortVariables = { DB_SNAPSHOTS_MAX: '2' };

/** Runs the cases. */
export function keepsToPrivatePort(started: () => PlatformHere): void {
  let ids = 0;
  const post = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const { status, text } = await started().ask(`/_platform/${path}`, body);
    assert.equal(status, 200, text);
    return JSON.parse(text) as Record<string, unknown>;
  };
  const change = (project: string, to: (record: RouteRecord) => RouteRecord): RouteRecord =>
    changeRoute(started().folder, project, to);

  /** Adds a deployment that nothing leads to. */
  const add = (project: string, artifact: string, branch = 'main'): string => {
    const id = `d${String(++ids).padStart(12, '0')}`;
    const target = branch === 'main' ? 'production' : 'preview';
    const deployment: DeploymentRecord = { id, artifact, branch, createdAt: '2026-01-01T00:00:00.000Z', target };
    change(project, (record) => ({ ...record, deployments: { ...record.deployments, [id]: deployment } }));
    return id;
  };

  test('a deployment that nothing leads to is started on every engine, and serves from that start', async () => {
    const id = add('warmed', await started().build('warmed', worker, yaml));
    const warmed = await post('warm', { project: 'warmed', deployment: id });
    assert.deepEqual(warmed, {
      warmed: true,
      outcome: 'ok',
      error: null,
      lines: [{ level: 'info', text: 'started 1' }],
      engines: started().engines,
    });
    change('warmed', (record) => asProduction(record, id));
    await started().answers('warmed', 'here');
    // Its home has not started it again.
    const again = await post('warm', { project: 'warmed', deployment: id });
    assert.deepEqual([again['engines'], again['outcome']], [started().engines, 'ok']);
  });

  test('a worker that cannot start says why, with what it wrote', async () => {
    const id = add('thrower', await started().build('thrower', `console.warn('before'); throw new Error('no luck');`));
    const { warmed, outcome, error, lines } = await post('warm', { project: 'thrower', deployment: id });
    assert.deepEqual([warmed, outcome], [false, 'worker_start_failed']);
    assert.match(String(error), /no luck/);
    assert.deepEqual((lines as { text: string }[])[0], { level: 'warn', text: 'before' });
  });

  test('a deployment that no record has is an error, and so is one of another project', async () => {
    const unknown = await started().ask('/_platform/warm', { project: 'warmed', deployment: 'd000000000000' });
    assert.deepEqual([unknown.status, (unknown.json() as { code: string }).code], [404, 'deployment_not_found']);
    const other = await started().ask('/_platform/warm', { project: 'thrower', deployment: 'd000000000001' });
    assert.equal(other.status, 404);
  });

  test('migrations are told, applied once, and a failure names file, line and statement', async () => {
    const artifact = await started().build('shop', worker, yaml, first);
    const order = { project: 'shop', artifact, branch: null };
    const of = (database: object): object => ({ outcome: 'ok', databases: [database] });
    const nothing = { resource: 'guests', copied: false, applied: [], present: [], pending: [], error: null };
    assert.deepEqual(
      await post('migrate', { ...order, dryRun: true }),
      of({ ...nothing, pending: ['0001_guests.sql'] }),
    );
    assert.deepEqual(await post('migrate', order), of({ ...nothing, applied: ['0001_guests.sql'] }));
    assert.deepEqual(await post('migrate', order), of({ ...nothing, present: ['0001_guests.sql'] }));

    const failing = await started().build('shop', worker, yaml, broken);
    const { outcome, databases } = await post('migrate', { ...order, artifact: failing });
    assert.equal(outcome, 'migration_failed');
    const [{ error, ...database }] = databases as [{ error: unknown }];
    assert.deepEqual(
      { ...database, error: null },
      { ...nothing, present: ['0001_guests.sql'], pending: ['0002_mail.sql'] },
    );
    assert.deepEqual(error, {
      code: 'migration_failed',
      message: 'Migration 0002_mail.sql, line 2: no such table: nobody',
      file: '0002_mail.sql',
      line: 2,
      statement: 'ALTER TABLE nobody ADD COLUMN mail TEXT',
    });
    const unknown = await started().ask('/_platform/migrate', { ...order, artifact: 'a'.repeat(64) });
    assert.deepEqual([unknown.status, (unknown.json() as { code: string }).code], [404, 'artifact_not_found']);
  });

  test('a preview gets a copy first, and its migrations only there; it goes with its branch, counted', async () => {
    const artifact = await started().build('branched', worker, yaml, first);
    await post('migrate', { project: 'branched', artifact, branch: null });
    const production = add('branched', artifact);
    change('branched', (record) => asProduction(record, production));
    await started().answers('branched', '1', '/add');

    const changed = await started().build('branched', worker, yaml, second, 'login');
    const order = { project: 'branched', artifact: changed, branch: 'login' };
    const one = {
      resource: 'guests',
      copied: false,
      applied: [],
      present: ['0001_guests.sql'],
      pending: [],
      error: null,
    };
    assert.deepEqual(await post('migrate', { ...order, dryRun: true }), {
      outcome: 'ok',
      databases: [{ ...one, pending: ['0002_mail.sql'] }],
    });
    assert.deepEqual(await post('migrate', order), {
      outcome: 'ok',
      databases: [{ ...one, copied: true, applied: ['0002_mail.sql'] }],
    });
    const preview = add('branched', changed, 'login');
    change('branched', (record) => ({ ...record, branches: { ...record.branches, login: preview } }));
    await started().answers('branched--login', '2', '/add');
    await started().fetch('branched--login', '/put');
    assert.equal((await started().fetch('branched', '/count')).text, '1');

    const removal = {
      project: 'branched',
      branch: 'login',
      bindings: [{ db: { DB: 'guests' }, state: { KV: 'kept' } }],
    };
    change('branched', ({ branches: { login: _gone, ...branches }, deployments, ...record }) => ({
      ...record,
      branches,
      deployments: Object.fromEntries(Object.entries(deployments).filter(([id]) => id !== preview)),
    }));
    assert.deepEqual(await post('remove-branch', removal), {
      removed: { databases: 1, stateKeys: 2, files: 0, messages: 0, timers: 0, runs: 0, sandboxes: 0, objects: 0 },
    });
    assert.equal((await started().fetch('branched', '/count')).text, '1');
    const refused = await started().ask('/_platform/remove-branch', { ...removal, branch: 'main' });
    assert.deepEqual([refused.status, (refused.json() as { code: string }).code], [409, 'branch_in_use']);
  });

  test('the data of a project is removed once it is not served any more', async () => {
    const artifact = await started().build('ended', worker, yaml, first);
    await post('migrate', { project: 'ended', artifact, branch: null });
    const id = add('ended', artifact);
    change('ended', (record) => asProduction(record, id));
    await started().answers('ended', '1', '/add');
    await started().fetch('ended', '/put');
    const removal = { project: 'ended', branches: ['main'], databases: ['guests'] };
    const refused = await started().ask('/_platform/remove-project', removal);
    assert.deepEqual([refused.status, (refused.json() as { code: string }).code], [409, 'project_in_use']);
    removeRoute(started().folder, 'ended');
    await until(async () => (await post('check', { project: 'ended', record: '' }))['routed'] === true);
    assert.deepEqual(await post('remove-project', removal), {
      removed: { databases: 1, stateKeys: 2, files: 0, messages: 0, timers: 0, runs: 0 },
    });
    const files = (await started().ask('/_platform/storage', {})).json() as { databases: Record<string, number> };
    assert.equal(files.databases['ended'], undefined);
  });

  test('a snapshot puts the databases back, and there are so many', async () => {
    const artifact = await started().build('kept', worker, yaml, first);
    await post('migrate', { project: 'kept', artifact, branch: null });
    const id = add('kept', artifact);
    change('kept', (record) => asProduction(record, id));
    await started().answers('kept', '1', '/add');
    const made = await post('snapshot', { project: 'kept', name: 'one' });
    const databases = made['databases'] as { resource: string; bytes: number }[];
    assert.deepEqual([databases.map(({ resource }) => resource), made['dropped']], [['guests'], []]);
    assert.ok(databases[0]!.bytes > 0);
    await started().answers('kept', '2', '/add');
    // Asked again it stays what it was.
    await post('snapshot', { project: 'kept', name: 'one' });
    assert.deepEqual(await post('restore', { project: 'kept', name: 'one' }), { name: 'one', restored: ['guests'] });
    assert.equal((await started().fetch('kept', '/count')).text, '1');
    await post('snapshot', { project: 'kept', name: 'two' });
    const { dropped } = await post('snapshot', { project: 'kept', name: 'three' });
    assert.deepEqual(dropped, ['one']);
    const { snapshots } = await post('snapshots', { project: 'kept' });
    assert.deepEqual(
      (snapshots as { name: string }[]).map(({ name }) => name),
      ['two', 'three'],
    );
    assert.deepEqual(await post('drop-snapshot', { project: 'kept', name: 'two' }), { dropped: 1 });
    assert.deepEqual(await post('drop-snapshot', { project: 'kept', name: 'two' }), { dropped: 0 });
    const gone = await started().ask('/_platform/restore', { project: 'kept', name: 'two' });
    assert.deepEqual([gone.status, (gone.json() as { code: string }).code], [404, 'snapshot_not_found']);
  });

  test('a deployment goes on in its isolates when it becomes production, and when it was', async () => {
    const code = (name: string): string =>
      `let id; export default { fetch: () => new Response('${name} ' + (id ??= Math.random())) };`;
    const one = add('switch', await started().build('switch', code('one')));
    const other = add('switch', await started().build('switch', code('other')));
    const seen = async (host: string, name: string): Promise<Set<string>> => {
      await until(async () => (await started().fetch(host)).text.startsWith(name));
      const ids = new Set<string>();
      for (let i = 0; i < 20; i++) ids.add((await started().fetch(host)).text);
      return ids;
    };
    change('switch', (record) => asProduction(record, one));
    const before = [await seen('switch', 'one'), await seen(`switch--${other}`, 'other')] as const;
    change('switch', (record) => asProduction(record, other));
    assert.deepEqual(
      [...(await seen('switch', 'other'))].filter((id) => !before[1].has(id)),
      [],
    );
    change('switch', (record) => asProduction(record, one));
    assert.deepEqual(
      [...(await seen('switch', 'one'))].filter((id) => !before[0].has(id)),
      [],
    );
  });

  test('what is no operation of a project is refused', async () => {
    for (const [path, body] of [
      ['warm', { project: 'UPPER', deployment: 'd000000000001' }],
      ['warm', { project: 'shop', deployment: '../etc' }],
      ['migrate', { project: 'shop', artifact: '../../etc/passwd', branch: null }],
      ['snapshot', { project: 'shop', name: '../up' }],
      ['snapshot', { project: 'shop', name: 'x', resource: 'guests~~login' }],
      ['remove-branch', { project: 'shop', branch: 'x', bindings: [{ db: { DB: '../../etc' } }] }],
      ['remove-branch', { project: 'shop', branch: '', bindings: [] }],
      ['remove-project', { project: 'shop', branches: ['main'], databases: ['../../etc'] }],
      ['remove-project', { project: 'shop' }],
    ] as const) {
      const { status, text } = await started().ask(`/_platform/${path}`, body);
      assert.deepEqual([status, (JSON.parse(text) as { code: string }).code], [400, 'bad_request'], path);
    }
  });
}
