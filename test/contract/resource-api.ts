// What the API over bindings keeps to, whoever answers: engines by way of the control plane, or `platform dev`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '#test/setup/until.ts';
import { keepsToObjectApi, roomClasses } from './object-api.ts';
import type { AskResourceApi, ResourceApiAnswer } from './resource-api-answer.ts';

/** The project that is asked: deploy it as this. */
export const resourceProject = {
  'platform.yaml': `
name: shop
db: {DB: guests}
queue: {JOBS: jobs, LATER: later}
state: {KV: kv}
cache: {CACHE: texts}
fs: {FILES: files}
timer: {TIMER: timers}
sandbox: {BOX: boxes}
workflow: {ORDER: order}
auth: {binding: PLATFORM_AUTH}
object: {ROOM: Room, LOBBY: Lobby}
cron:
  NIGHTLY: '0 3 1 1 *'
`,
  'migrations/0001_guests.sql':
    'CREATE TABLE guests (id INTEGER PRIMARY KEY, name TEXT NOT NULL, photo BLOB);\nCREATE TABLE tags (word TEXT, guest INTEGER);\n',
  'src/index.ts': `
${roomClasses}
export default {
  fetch: async (request, env) => {
    const url = new URL(request.url);
    if (url.pathname === '/room') return askRoom(env, url);
    if (new URL(request.url).pathname === '/cache') await env.CACHE.set('greeting', 'hello');
    return new Response('ok');
  },
  async message(event, env) {
    if (event.payload.poison && (await env.KV.get('antidote')) === null) throw new Error('poisoned <b>');
    await env.KV.put('delivered', String(event.payload.n));
  },
  async timer(event, env) { await env.KV.put('timer', event.id); },
  async scheduled(event, env) { await env.KV.put('cron', 'ran'); },
  workflows: {
    order: {
      async handler({ step, input }) {
        const price = await step.run('price', () => input.price);
        const { payload } = await step.waitForEvent('approval', { type: 'approved' });
        return step.run('total', () => price + payload.tip);
      },
    },
  },
};
`,
} as const;

/** Runs the cases. @param ready the project is served, and deliveries are tried once */
export function keepsToResourceApi(
  ask: AskResourceApi,
  options: {
    readonly fetch: (path: string) => Promise<unknown>;
    readonly listsCaches: boolean;
  },
): void {
  const get = async (path: string): Promise<ResourceApiAnswer['body']> => {
    const { status, body } = await ask('GET', path);
    assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`);
    return body;
  };
  const value = async (key: string): Promise<string | undefined> =>
    (await ask('GET', `/state/KV/entry?key=${key}`)).body?.value;

  test('bindings are listed with the resources they lead to', async () => {
    const { items } = await get('/resources');
    assert.deepEqual(
      items
        .filter(({ kind }: { kind: string }) => kind !== 'auth')
        .map(({ kind, binding, resource }: Record<string, string>) => `${kind} ${binding} ${resource}`)
        .toSorted(),
      [
        'cache CACHE texts',
        'db DB guests',
        'fs FILES files',
        'object LOBBY Lobby',
        'object ROOM Room',
        'queue JOBS jobs',
        'queue LATER later',
        'sandbox BOX boxes',
        'state KV kv',
        'timer TIMER timers',
        'workflow ORDER order',
      ],
    );
    assert.ok(items.some(({ kind }: { kind: string }) => kind === 'auth'));
  });

  test('a table is shown in pages, with its key, and long values by their beginning', async () => {
    const long = 'ü'.repeat(300_000);
    const insert = {
      sql: 'INSERT INTO guests (name, photo) VALUES (?1, ?2), (?3, NULL) RETURNING id',
      params: ['<b>ann</b>', { b: 'AAEC' }, long],
    };
    const { status, body } = await ask('POST', '/databases/DB/query', insert);
    assert.deepEqual([status, body.columns, body.rows, body.truncated], [200, ['id'], [[1], [2]], false]);
    const page = await get('/databases/DB/rows?table=guests&limit=10');
    assert.deepEqual([page.total, page.key, page.keys], [2, ['id'], [[1], [2]]]);
    assert.deepEqual(page.rows[0], [1, '<b>ann</b>', { b: 'AAEC' }]);
    assert.deepEqual(page.rows[1], [2, { cut: 600_000, t: 'ü'.repeat(1000) }, null]);
    assert.deepEqual(
      page.table.columns.map(({ name, type, notNull, primaryKey }: Record<string, unknown>) => [
        name,
        type,
        notNull,
        primaryKey,
      ]),
      [
        ['id', 'INTEGER', false, 1],
        ['name', 'TEXT', true, 0],
        ['photo', 'BLOB', false, 0],
      ],
    );
    const cell = await ask('POST', '/databases/DB/cell', { table: 'guests', column: 'name', key: [2] });
    assert.equal(cell.body.value, long);
    const found = await get('/databases/DB/rows?table=guests&column=name&search=ANN&order=name&descending=true');
    assert.deepEqual(found.keys, [[1]]);
    await ask('POST', '/databases/DB/query', { sql: "INSERT INTO tags VALUES ('x', 1)" });
    const tags = await get('/databases/DB/rows?table=tags');
    assert.deepEqual([tags.key, tags.keys, tags.rows], [['rowid'], [[1]], [['x', 1]]]);
    assert.deepEqual(
      (await get('/databases/DB/tables')).items.map(({ name, sql }: Record<string, string>) => [name, sql]),
      [
        ['guests', 'CREATE TABLE guests (id INTEGER PRIMARY KEY, name TEXT NOT NULL, photo BLOB)'],
        ['tags', 'CREATE TABLE tags (word TEXT, guest INTEGER)'],
      ],
    );
    assert.equal((await ask('GET', '/databases/DB/rows?table=nobody')).status, 404);
    assert.equal((await ask('GET', '/databases/DB/rows?table=guests&order=nobody')).status, 400);
    assert.equal((await ask('GET', '/databases/NOPE/rows?table=guests')).status, 400);
  });

  test('a view whose table was dropped is listed without columns, and hides no other table', async () => {
    const sql = 'CREATE TABLE gone (a); CREATE VIEW of_gone AS SELECT a FROM gone; DROP TABLE gone;';
    assert.equal((await ask('POST', '/databases/DB/script', { sql })).status, 200);
    const { items, bytes } = await get('/databases/DB/tables');
    assert.deepEqual(
      items.map(({ name, type, columns }: { name: string; type: string; columns: object[] }) => [
        name,
        type,
        columns.length,
      ]),
      [
        ['guests', 'table', 3],
        ['of_gone', 'view', 0],
        ['tags', 'table', 2],
      ],
    );
    assert.ok(bytes > 0);
    assert.equal((await get('/databases/DB/rows?table=tags')).total, 1);
    const shown = await ask('GET', '/databases/DB/rows?table=of_gone');
    assert.deepEqual([shown.status, shown.body.message.includes('no such table: main.gone')], [400, true]);
    await ask('POST', '/databases/DB/query', { sql: 'DROP VIEW of_gone' });
  });

  test('a table of vectors is shown without those in which its module keeps them', async () => {
    const query = (sql: string): Promise<ResourceApiAnswer> => ask('POST', '/databases/DB/query', { sql });
    await query('CREATE VIRTUAL TABLE near USING vec0(e float[2], word TEXT, year INTEGER, +note TEXT, chunk_size=8)');
    await query("INSERT INTO near (rowid, e, word, year, note) VALUES (7, '[1, 2]', 'a longer word', 2026, 'n')");
    const { items } = await get('/databases/DB/tables');
    assert.deepEqual(
      items.map(({ name }: { name: string }) => name),
      ['guests', 'near', 'tags'],
    );
    const page = await get('/databases/DB/rows?table=near');
    assert.deepEqual(page.rows, [[7, { b: 'AACAPwAAAEA=' }, 'a longer word', 2026, 'n']]);
    await query('DROP TABLE near');
  });

  test('statements are run, refused with their reason, explained, and found when they were slow', async () => {
    const wrong = await ask('POST', '/databases/DB/query', { sql: 'SELECT * FROM nobody' });
    assert.equal(wrong.status, 400);
    assert.match(wrong.body.message, /no such table: nobody/);
    const plan = await ask('POST', '/databases/DB/explain', { sql: 'SELECT * FROM guests WHERE id = 1' });
    assert.match(plan.body.plan[0].detail, /SEARCH guests USING INTEGER PRIMARY KEY/);
    assert.equal((await ask('POST', '/databases/DB/explain', { sql: 'SELECT 1; DELETE FROM guests' })).status, 400);
    const slow =
      'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600000) SELECT max(i) FROM n';
    await ask('POST', '/databases/DB/query', { sql: slow });
    const [first] = (await get('/databases/DB/slow')).items;
    assert.deepEqual([first.sql, first.count, first.rowsRead], [slow, 1, 1]);
    await ask('POST', '/databases/DB/query', { sql: `CREATE VIEW slow_one AS ${slow}` });
    assert.equal((await get('/databases/DB/rows?table=slow_one')).total, 1);
    await ask('POST', '/databases/DB/query', { sql: 'DROP VIEW slow_one' });
    // What the page of rows asks is none of the app's.
    const listed = (await get('/databases/DB/slow')).items.map(({ sql }: { sql: string }) => sql);
    assert.deepEqual(
      listed.filter((sql: string) => sql.includes('slow_one') && !/^(?:CREATE|DROP) VIEW/.test(sql)),
      [],
    );
    const many = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT i FROM n';
    const { body } = await ask('POST', '/databases/DB/query', { sql: many });
    assert.deepEqual([body.rows.length, body.truncated], [1000, true]);
    const script = await ask('POST', '/databases/DB/script', { sql: 'CREATE TABLE a (x); DROP TABLE a;' });
    assert.deepEqual([script.status, script.body.count], [200, 2]);
  });

  test('a copy is made, restored, and what it replaced is a copy in turn', async () => {
    const made = await ask('POST', '/databases/DB/copies');
    assert.equal(made.status, 201, JSON.stringify(made.body));
    await ask('POST', '/databases/DB/query', { sql: 'DELETE FROM tags' });
    const restored = await ask('POST', `/databases/DB/copies/${made.body.copy.name}/restore`);
    assert.equal(restored.status, 200, JSON.stringify(restored.body));
    assert.equal((await get('/databases/DB/rows?table=tags')).total, 1);
    const { items, bytes } = await get('/databases/DB/copies');
    assert.deepEqual(
      items.map(({ name }: { name: string }) => name).toSorted(),
      [made.body.copy.name, restored.body.before].toSorted(),
    );
    assert.ok(bytes > 0);
    for (const { name } of items) assert.equal((await ask('DELETE', `/databases/DB/copies/${name}`)).status, 204);
    assert.deepEqual((await get('/databases/DB/copies')).items, []);
    assert.equal((await ask('POST', '/databases/DB/copies/no-such/restore')).status, 404);
  });

  test('a file is sent in pieces, whole before it is imported, and gone when that is over', async () => {
    const begun = await ask('POST', '/databases/DB/imports');
    assert.deepEqual([begun.status, begun.body.pieceBytesMax, begun.body.bytesMax], [201, 8_388_608, 20_000_000_000]);
    const at = `/databases/DB/imports/${begun.body.id}`;
    const [first, rest] = [Buffer.from('CREATE TABLE sent (a);\nINSERT INTO'), Buffer.from(' sent VALUES (7);\n')];
    assert.deepEqual((await ask('PUT', `${at}?offset=0`, first)).body, { bytes: first.length });
    const early = await ask('PUT', `${at}?offset=${first.length + 1}`, rest);
    assert.deepEqual([early.status, early.body.message.includes(`continue at offset ${first.length}`)], [409, true]);
    const bytes = first.length + rest.length;
    const half = await ask('POST', `${at}/run`, { bytes });
    assert.deepEqual([half.status, half.body.message.includes(`${first.length} of ${bytes} bytes`)], [400, true]);
    // A piece whose answer was lost is sent again.
    for (let time = 0; time < 2; time++)
      assert.deepEqual((await ask('PUT', `${at}?offset=${first.length}`, rest)).body, { bytes });
    let state = (await ask('POST', `${at}/run`, { bytes })).body;
    while (state.state === 'running') state = await get(at);
    assert.deepEqual(state, { state: 'done', statements: 2, part: 1, reason: null, leftOut: [] });
    assert.deepEqual((await ask('POST', `${at}/run`, { bytes })).body, state, 'asked again it is not done again');
    assert.equal((await ask('PUT', `${at}?offset=${bytes}`, rest)).status, 409);
    assert.deepEqual((await get('/databases/DB/rows?table=sent')).rows, [[7]]);
    assert.equal(
      (await ask('POST', `/databases/DB/imports/${'0'.repeat(8)}-0000-4000-8000-${'0'.repeat(12)}/run`, { bytes: 0 }))
        .status,
      404,
    );
    assert.equal((await ask('POST', '/databases/DB/imports/..%2f..%2fsecrets/run', { bytes: 0 })).status, 400);
    const open = [];
    for (let count = 0; count < 4; count++) open.push((await ask('POST', '/databases/DB/imports')).body.id);
    assert.equal((await ask('POST', '/databases/DB/imports')).status, 409);
    for (const id of open) assert.equal((await ask('DELETE', `/databases/DB/imports/${id}`)).status, 204);
    await ask('POST', '/databases/DB/query', { sql: 'DROP TABLE sent' });
  });

  test('an entry of state is written over the version that was read, and over no other', async () => {
    const at = `/state/KV/entry?key=${encodeURIComponent('a/../b <i>')}`;
    assert.equal((await ask('PUT', at, { value: 'one', metadata: { by: 'me' }, version: null })).status, 204);
    assert.equal((await ask('PUT', at, { value: 'two', version: null })).status, 409);
    const { version, value: read, metadata } = await get(at);
    assert.deepEqual([read, metadata], ['one', { by: 'me' }]);
    assert.equal((await ask('PUT', at, { base64: '/wA=', version })).status, 204);
    assert.equal((await ask('PUT', at, { value: 'late', version })).status, 409);
    assert.equal((await get(at)).base64, '/wA=');
    assert.deepEqual(
      (await get('/state/KV?prefix=a/')).items.map(({ key }: { key: string }) => key),
      ['a/../b <i>'],
    );
    assert.equal((await ask('DELETE', at)).status, 204);
    assert.equal((await ask('GET', at)).status, 404);
    assert.equal((await ask('PUT', at, {})).status, 400);
  });

  test('a file comes back as it was sent, and nothing shows it as a page', async () => {
    const at = `/files/FILES/content?key=${encodeURIComponent('docs/a ü.html')}`;
    const bytes = Buffer.alloc(9_000_000, '<script>alert(1)</script>');
    const put = await ask('PUT', at, bytes);
    assert.deepEqual([put.status, put.body.size], [200, bytes.length]);
    const got = await ask('GET', at);
    assert.ok(got.bytes.equals(bytes));
    assert.deepEqual(
      ['content-type', 'content-disposition', 'content-security-policy', 'x-content-type-options', 'x-file-type'].map(
        (name) => got.headers.get(name),
      ),
      [
        'application/octet-stream',
        "attachment; filename*=UTF-8''a%20%C3%BC.html",
        "sandbox; default-src 'none'",
        'nosniff',
        'text/html',
      ],
    );
    const { items, folders } = await get('/files/FILES?delimiter=/');
    assert.deepEqual([items, folders], [[], ['docs/']]);
    assert.equal((await get('/files/FILES?delimiter=/&prefix=docs/')).items[0].key, 'docs/a ü.html');
    assert.equal((await ask('DELETE', at)).status, 204);
    assert.equal((await ask('GET', at)).status, 404);
  });

  test('a message that fails becomes a dead letter with its reason, and one is redriven', async () => {
    const send = (payload: object): Promise<ResourceApiAnswer> => ask('POST', '/queues/JOBS/messages', { payload });
    assert.equal((await send({ poison: true, n: 7 })).status, 201);
    await send({ poison: true, n: 8 });
    const dead = await until(async () => {
      const { items } = await get('/queues/JOBS/messages?dead=true');
      return items.length === 2 && items;
    });
    assert.match(dead[0].deadReason, /poisoned <b>/);
    assert.deepEqual(dead.map(({ payload }: { payload: { n: number } }) => payload.n).toSorted(), [7, 8]);
    await ask('PUT', '/state/KV/entry?key=antidote', { value: 'taken' });
    const seven = dead.find(({ payload }: { payload: { n: number } }) => payload.n === 7);
    assert.deepEqual((await ask('POST', `/queues/JOBS/redrive?message=${seven.id}`)).body, { count: 1 });
    await until(async () => (await value('delivered')) === '7');
    assert.equal((await get('/queues/JOBS/stats')).deadCount, 1);
    assert.deepEqual((await ask('POST', '/queues/JOBS/purge?dead=true')).body, { count: 1 });
    const later = await ask('POST', '/queues/LATER/messages', { payload: 1, delaySeconds: 600 });
    const { items } = await get('/queues/LATER/messages');
    assert.deepEqual([items[0].id, items[0].payload], [later.body.messageId, 1]);
    assert.equal((await get('/queues/LATER/stats')).backlogCount, 1);
    assert.equal((await ask('DELETE', `/queues/LATER/messages/${later.body.messageId}`)).status, 204);
    assert.equal((await ask('DELETE', `/queues/LATER/messages/${later.body.messageId}`)).status, 404);
    assert.equal((await get('/queues/LATER/stats')).backlogCount, 0);
    assert.deepEqual((await ask('POST', '/queues/LATER/redrive')).body, { count: 0 });
  });

  test('a run is started, sent its event, looked at, and run again from a step', async () => {
    const { body: started } = await ask('POST', '/workflows/ORDER/runs', { input: { price: 40 }, id: '../run' });
    assert.equal(started.id, '../run');
    const run = `run=${encodeURIComponent('../run')}`;
    const reached = (isThere: (run: ResourceApiAnswer['body']) => boolean): Promise<ResourceApiAnswer['body']> =>
      until(async () => {
        const found = await get(`/workflows/ORDER/run?${run}`);
        return isThere(found) && found;
      });
    const isWaiting = ({ steps }: ResourceApiAnswer['body']): boolean =>
      steps.some((step: { status: string }) => step.status === 'waiting');
    const waiting = await reached(isWaiting);
    assert.deepEqual(
      waiting.steps.map(({ name, kind, status, eventType }: Record<string, unknown>) => [
        name,
        kind,
        status,
        eventType,
      ]),
      [
        ['price', 'run', 'done', null],
        ['approval', 'event', 'waiting', 'approved'],
      ],
    );
    const approve = async (): Promise<number> =>
      (await ask('POST', `/workflows/ORDER/run/events?${run}`, { type: 'approved', payload: { tip: 2 } })).status;
    assert.equal(await approve(), 204);
    const completed = await reached(({ status }) => status === 'completed');
    assert.deepEqual([completed.input, completed.output], [{ price: 40 }, 42]);
    assert.deepEqual(
      completed.steps.map(({ name, kind, status }: Record<string, unknown>) => [name, kind, status]),
      [
        ['price', 'run', 'done'],
        ['approval', 'event', 'done'],
        ['total', 'run', 'done'],
      ],
    );
    assert.deepEqual([completed.steps[0].result, completed.steps[1].result.payload], [40, { tip: 2 }]);
    assert.equal((await ask('POST', `/workflows/ORDER/run/pause?${run}`)).status, 409);
    assert.equal(await approve(), 409);
    assert.equal((await ask('POST', `/workflows/ORDER/run/restart?${run}`, { fromStep: 'approval' })).status, 204);
    // Its step waits before the invocation that said so has ended.
    await reached((found) => isWaiting(found) && found.status === 'pending');
    assert.equal((await ask('POST', `/workflows/ORDER/run/cancel?${run}`)).status, 204);
    assert.equal((await get(`/workflows/ORDER/run?${run}`)).status, 'cancelled');
    assert.equal((await get('/workflows/ORDER/runs?status=cancelled')).items[0].id, '../run');
    assert.equal((await ask('GET', '/workflows/ORDER/run?run=none')).status, 404);
    assert.equal((await ask('POST', '/workflows/ORDER/run/cancel?run=none')).status, 404);
    assert.equal((await ask('GET', '/workflows/ORDER/runs?status=odd')).status, 400);
  });

  test('timers and schedules are listed and run now', async () => {
    const at = `/timers/TIMER/entry?key=${encodeURIComponent('egg/1')}`;
    assert.equal((await ask('PUT', at, { afterMs: 86_400_000, payload: { n: 1 } })).status, 204);
    const { items } = await get('/timers/TIMER');
    assert.deepEqual([items[0].id, items[0].payload, items[0].cron], ['egg/1', { n: 1 }, null]);
    assert.equal((await ask('POST', `/timers/TIMER/run?key=${encodeURIComponent('egg/1')}`)).status, 204);
    await until(async () => (await value('timer')) === 'egg/1');
    await until(async () => (await get('/timers/TIMER')).items.length === 0);
    assert.equal((await ask('POST', '/timers/TIMER/run?key=none')).status, 404);
    assert.equal((await ask('PUT', at, { cron: 'odd', afterMs: 0 })).status, 400);
    const [nightly] = (
      await until(async () => {
        const found = await get('/schedules');
        return found.items.length === 1 && found;
      })
    ).items;
    assert.deepEqual([nightly.name, nightly.schedule, nightly.timezone], ['NIGHTLY', '0 3 1 1 *', 'UTC']);
    assert.deepEqual((await ask('POST', '/schedules/run?name=NIGHTLY')).body, { triggered: true });
    await until(async () => (await value('cron')) === 'ran');
    await until(async () => (await get('/schedules')).items[0].lastOutcome === 'ok');
    assert.equal((await ask('POST', '/schedules/run?name=none')).status, 404);
  });

  test('users are created, looked at without their secrets, and deleted', async () => {
    const ann = { email: 'Ann@Example.org', password: 'long enough', name: 'Ann' };
    const { status, body: made } = await ask('POST', '/users', ann);
    assert.deepEqual([status, made.email, made.name], [201, 'ann@example.org', 'Ann']);
    const { items } = await get('/users');
    assert.deepEqual(
      items.map(({ id }: { id: string }) => id),
      [made.id],
    );
    assert.deepEqual(await get(`/users/${made.id}/sessions`), { items: [], methods: ['credential'] });
    assert.deepEqual(await get('/sign-in'), { providers: [], requiresVerification: false });
    assert.equal((await ask('POST', '/users', { email: 'ann@example.org' })).status, 409);
    assert.equal((await ask('DELETE', `/users/${made.id}`)).status, 204);
    assert.deepEqual((await get('/users')).items, []);
  });

  test('what a cache keeps is read by its key, listed where the cache can, and deleted', async () => {
    await options.fetch('/cache');
    assert.deepEqual(await get('/caches/CACHE/entry?key=greeting'), { key: 'greeting', value: 'hello' });
    const listed = await ask('GET', '/caches/CACHE');
    if (options.listsCaches)
      assert.deepEqual(
        listed.body.items.map(({ key }: { key: string }) => key),
        ['greeting'],
      );
    else assert.deepEqual([listed.status, listed.body.code], [501, 'not_available']);
    assert.equal((await ask('DELETE', '/caches/CACHE/entry?key=greeting')).status, 204);
    assert.equal((await ask('GET', '/caches/CACHE/entry?key=greeting')).status, 404);
  });

  keepsToObjectApi(ask, options.fetch);

  test('what is no question is refused with a reason', async () => {
    for (const [method, path, body] of [
      ['GET', '/databases/DB/rows', undefined],
      ['GET', '/databases/DB/rows?table=guests&limit=1001', undefined],
      ['POST', '/databases/DB/query', { sql: '' }],
      ['POST', '/databases/DB/query', { sql: 'SELECT ?1', params: [{ b: 7 }] }],
      ['POST', '/databases/DB/cell', { table: 'guests', column: 'name', key: [] }],
      ['GET', '/state/KV/entry?key=', undefined],
      ['GET', '/state/KV/entry?key=%00', undefined],
      ['GET', '/state/__proto__', undefined],
      ['GET', '/state/KV?cursor=nonsense', undefined],
      ['GET', '/files/FILES?cursor=nonsense', undefined],
      ['GET', '/timers/REMIND?cursor=nonsense', undefined],
      ['GET', '/users?cursor=nonsense', undefined],
      ['GET', '/objects/ROOM?cursor=nonsense', undefined],
      ['GET', '/objects/ROOM/entry?object=', undefined],
      ['POST', '/objects/ROOM/entry/query?object=a', { sql: '' }],
      ['POST', '/objects/ROOM/entry/sql?object=a', { sql: 'SELECT nothing' }],
      ['PUT', '/state/KV/entry?key=k', { value: 1 }],
      ['POST', '/queues/JOBS/messages', {}],
      ['POST', '/queues/JOBS/messages', { payload: 1, delaySeconds: -1 }],
      ['GET', '/workflows/ORDER/runs?cursor=x', undefined],
      ['POST', '/users', { email: 'nobody' }],
    ] as const) {
      const answer = await ask(method, path, body);
      assert.deepEqual([answer.status, typeof answer.body.message], [400, 'string'], `${method} ${path}`);
    }
  });
}
