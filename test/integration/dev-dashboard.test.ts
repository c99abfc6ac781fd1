// The dashboard of `platform dev` and the mock server on its port, asked over HTTP as the page, a framework and an
// attacker would.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { createDashboardProject } from '#test/setup/dashboard-project.ts';
import { startDev, type TestDev } from '#test/setup/dev.ts';
import { send, type TestRequest, type TestResponse } from '#test/setup/handler.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';
import { until } from '#test/setup/until.ts';

const worker = `
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === '/vars') return Response.json(env.vars);
    if (pathname === '/health') return fetch(env.vars.PLATFORM_MOCK_SERVER_URL + '/health');
    console.log('asked for ' + pathname);
    return new Response('ok');
  },
  async message(event) { if (event.payload.poison) event.retry({ delaySeconds: 600 }); },
  async scheduled(event) { console.log('cron ran'); },
  async timer(event) { console.log('timer ' + event.id + ' ' + event.payload.n); },
  workflows: {
    order: {
      async handler({ step }) {
        const first = await step.run('first', () => 1);
        const { payload } = await step.waitForEvent('approval', { type: 'approved' });
        return step.run('second', () => first + payload.n);
      },
    },
  },
};`;

let folder: string;
let dev: TestDev;
let port: number;

before(async () => {
  folder = await createDashboardProject({
    'src/index.ts': worker,
    'migrations/0001_guests.sql': 'CREATE TABLE guests (id INTEGER PRIMARY KEY, name TEXT, photo BLOB);',
    '.env': 'SECRET=hunter2\n',
  });
  dev = await startDev(folder);
  const [, found] = await dev.printed(/Dashboard http:\/\/127\.0\.0\.1:(\d+)/);
  port = Number(found);
});
after(async () => {
  await dev.close();
  await rm(folder, { recursive: true, force: true });
});

const ask = (path: string, options: TestRequest = {}): Promise<TestResponse> =>
  send(port, `127.0.0.1:${port}`, path, options);
const json = async (path: string): Promise<any> => (await ask(path)).json();
const write = (method: string, path: string, body: unknown = {}): Promise<TestResponse> =>
  ask(path, { method, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
const post = (path: string, body?: unknown): Promise<TestResponse> => write('POST', path, body);

/** Asks until an answer is as it should be. */
function untilAnswer(path: string, isDone: (answer: any) => boolean): Promise<any> {
  return until(async () => {
    const answer = await json(path);
    return isDone(answer) && answer;
  });
}

test('the configuration names bindings and variables, and gives no value of one', async () => {
  const { text } = await ask('/api/config');
  const { name, ready, bindings, cron, variables } = JSON.parse(text);
  assert.deepEqual([name, ready], ['shop', true]);
  assert.deepEqual(bindings.db, { DB: 'guests' });
  assert.deepEqual(cron, { NIGHTLY: { schedule: '0 3 1 1 *', timezone: 'UTC' } });
  assert.deepEqual(variables, ['PLATFORM_DASHBOARD_URL', 'PLATFORM_MOCK_SERVER_URL', 'SECRET']);
  assert.ok(!text.includes('hunter2'));
  assert.deepEqual((await json('/api/projects')).projects, [{ name: 'shop', url: `http://127.0.0.1:${dev.port}` }]);
  assert.equal((await json('/api/projects/shop/config')).name, 'shop');
  assert.equal((await ask('/api/projects/other/config')).status, 404);
});

test('workers see where the dashboard and the mock server are, and reach them', async () => {
  const url = `http://127.0.0.1:${port}`;
  assert.deepEqual((await dev.fetch('/vars')).json(), {
    SECRET: 'hunter2',
    PLATFORM_DASHBOARD_URL: url,
    PLATFORM_MOCK_SERVER_URL: url,
  });
  assert.deepEqual((await dev.fetch('/health')).json(), { status: 'ok' });
});

test('requests come with their status and times, and logs beside them, live', async () => {
  const live = request({
    host: '127.0.0.1',
    port,
    path: '/api/activity',
    headers: { host: `localhost:${port}` },
  }).end();
  const [answer] = await once(live, 'response');
  const lines = createInterface({ input: answer })[Symbol.asyncIterator]();
  const seen: any[] = [];
  await dev.fetch('/hello?a=1');
  while (!seen.some((noted) => noted.type === 'request' && noted.path === '/hello?a=1')) {
    const { value = '' } = await lines.next();
    if (value.startsWith('data: ')) seen.push(JSON.parse(value.slice(6)));
  }
  live.destroy();
  const found = seen.find((noted) => noted.path === '/hello?a=1');
  assert.deepEqual([found.method, found.status, found.outcome], ['GET', 200, 'ok']);
  assert.ok(found.cpuMs > 0 && found.wallMs >= 0);
  assert.ok(seen.some((noted) => noted.type === 'log' && noted.message === 'asked for /hello'));
  assert.ok((await json('/api/requests')).requests.some((noted: any) => noted.path === '/hello?a=1'));
  assert.ok((await json('/api/logs')).logs.some((noted: any) => noted.message === 'asked for /hello'));
});

test('a database is queried, written and looked through', async () => {
  const inserted = await post('/api/db/DB/query', {
    sql: 'INSERT INTO guests (name, photo) VALUES (?1, ?2) RETURNING id',
    params: ['ann', { b: 'AAE=' }],
  });
  assert.deepEqual(inserted.json(), { ...(inserted.json() as object), columns: ['id'], rows: [[1]], truncated: false });
  assert.ok((await json('/api/db/DB/tables')).tables.some(({ name }: any) => name === 'guests'));
  const page = await json('/api/db/DB/tables/guests?limit=10');
  assert.deepEqual([page.total, page.columns, page.rows], [1, ['id', 'name', 'photo'], [[1, 'ann', { b: 'AAE=' }]]]);
  assert.ok(
    (await json('/api/db/DB/schema')).schema.some(
      ({ name, sql }: any) => name === 'guests' && sql.startsWith('CREATE TABLE'),
    ),
  );
  const wrong = await post('/api/db/DB/query', { sql: 'SELECT * FROM nobody' });
  assert.equal(wrong.status, 400);
  assert.match((wrong.json() as any).error, /no such table: nobody/);
  assert.equal(
    (await post('/api/db/DB/query', { sql: 'CREATE TABLE a (x); CREATE TABLE b (x);', script: true })).status,
    200,
  );
  assert.equal((await ask('/api/db/NOPE/tables')).status, 404);
  assert.equal((await ask('/api/db/DB/tables/nobody')).status, 404);
});

test('messages are sent, listed and deleted', async () => {
  const { messageId } = (
    await post('/api/queue/JOBS/messages', { payload: { n: 1 }, delaySeconds: 600 })
  ).json() as any;
  const { messages } = await json('/api/queue/JOBS/messages');
  assert.deepEqual(
    messages.map(({ id, payload }: any) => ({ id, payload })),
    [{ id: messageId, payload: { n: 1 } }],
  );
  assert.equal((await json('/api/queue/JOBS/metrics')).backlogCount, 1);
  assert.equal((await ask(`/api/queue/JOBS/messages/${messageId}`, { method: 'DELETE' })).status, 204);
  assert.equal((await ask(`/api/queue/JOBS/messages/${messageId}`, { method: 'DELETE' })).status, 404);
  assert.equal((await json('/api/queue/JOBS/metrics')).backlogCount, 0);
  assert.deepEqual((await post('/api/queue/JOBS/redrive')).json(), { count: 0 });
  assert.equal((await post('/api/queue/JOBS/messages', {})).status, 400);
});

test('state is written, read with its metadata, listed and deleted', async () => {
  const path = `/api/state/KV/entries/${encodeURIComponent('a/b ü')}`;
  assert.deepEqual((await write('PUT', path, { value: 'one', metadata: { by: 'me' } })).json(), { written: true });
  const { value, metadata, expiresAt, version } = await json(path);
  assert.deepEqual([value, metadata, expiresAt], ['one', { by: 'me' }, null]);
  assert.deepEqual((await write('PUT', path, { base64: 'AAEC', version })).json(), { written: true });
  assert.deepEqual((await write('PUT', path, { value: 'late', version })).json(), { written: false });
  assert.equal((await json(path)).base64, 'AAEC');
  assert.deepEqual(
    (await json('/api/state/KV/entries?prefix=a/')).keys.map(({ name }: any) => name),
    ['a/b ü'],
  );
  assert.equal((await ask(path, { method: 'DELETE' })).status, 204);
  assert.equal((await ask(path)).status, 404);
  assert.equal((await write('PUT', path, { value: 1 })).status, 400);
});

test('files are uploaded, listed by folder, downloaded without being shown, and deleted', async () => {
  const path = `/api/fs/FILES/entries/${encodeURIComponent('pictures/a.html')}`;
  const put = await ask(path, { method: 'PUT', body: '<script>1</script>', headers: { 'content-type': 'text/html' } });
  assert.equal((put.json() as any).size, 18);
  const { prefixes } = await json('/api/fs/FILES/entries');
  assert.deepEqual(prefixes, ['pictures/']);
  assert.deepEqual(
    (await json('/api/fs/FILES/entries?prefix=pictures/')).files.map(({ key }: any) => key),
    ['pictures/a.html'],
  );
  const got = await ask(path);
  assert.equal(got.text, '<script>1</script>');
  assert.match(String(got.headers['content-disposition']), /^attachment; filename\*=UTF-8''a\.html$/);
  assert.match(String(got.headers['content-security-policy']), /sandbox/);
  assert.equal((await ask(path, { method: 'DELETE' })).status, 204);
  assert.equal((await ask(path)).status, 404);
});

test('a timer is set, run now and gone; a schedule is run now', async () => {
  assert.equal(
    (await post('/api/timer/TIMER/entries', { id: 't1', afterMs: 86_400_000, payload: { n: 7 } })).status,
    200,
  );
  assert.deepEqual(
    (await json('/api/timer/TIMER/entries')).timers.map(({ id }: any) => id),
    ['t1'],
  );
  assert.equal((await post('/api/timer/TIMER/entries/t1/trigger')).status, 200);
  await dev.printed(/timer t1 7/);
  const { executions } = await untilAnswer('/api/timer/TIMER/executions', (answer) => answer.executions.length === 1);
  assert.deepEqual([executions[0].id, executions[0].outcome], ['t1', 'ok']);
  await untilAnswer('/api/timer/TIMER/entries', (answer) => answer.timers.length === 0);
  assert.deepEqual(await json('/api/timer/TIMER/metrics'), { count: 0, more: false, firedCount: 1, failedCount: 0 });
  assert.deepEqual((await post('/api/cron/NIGHTLY/trigger')).json(), { name: 'NIGHTLY', triggered: true });
  await dev.printed(/cron ran/);
  const ran = await untilAnswer('/api/cron/NIGHTLY/executions', (answer) => answer.cron.lastOutcome !== null);
  assert.deepEqual([ran.cron.lastOutcome, ran.executions.length], ['ok', 1]);
  assert.equal((await post('/api/cron/hourly/trigger')).status, 404);
});

test('a run is started, shown step by step, sent its event, and restarted from a step', async () => {
  const { executionId } = (await post('/api/workflow/ORDER/executions', { input: { a: 1 } })).json() as any;
  const path = `/api/workflow/ORDER/executions/${executionId}`;
  const waiting = await untilAnswer(path, (run) => run.steps?.some(({ status }: any) => status === 'waiting'));
  assert.deepEqual(
    waiting.steps.map(({ name, kind, status, eventType }: any) => [name, kind, status, eventType]),
    [
      ['first', 'run', 'done', null],
      ['approval', 'event', 'waiting', 'approved'],
    ],
  );
  assert.equal((await post(`${path}/events`, { type: 'approved', payload: { n: 41 } })).status, 204);
  const done = await untilAnswer(path, (run) => run.status === 'completed');
  assert.deepEqual([done.input, done.output], [{ a: 1 }, 42]);
  assert.equal((await post(`${path}/events`, { type: 'approved' })).status, 409);
  assert.equal((await post(`${path}/restart`, { fromStep: 'approval' })).status, 204);
  const again = await untilAnswer(path, (run) => run.steps?.some(({ status }: any) => status === 'waiting'));
  assert.equal(again.status, 'running');
  assert.equal((await post(`${path}/cancel`)).status, 204);
  assert.equal((await json(path)).status, 'cancelled');
  assert.deepEqual(
    (await json('/api/workflow/ORDER/executions?status=cancelled')).executions.map(({ id }: any) => id),
    [executionId],
  );
  assert.equal((await ask('/api/workflow/ORDER/executions/nobody')).status, 404);
});

test('users are created, listed, queried and deleted', async () => {
  const user = (
    await post('/api/auth/users', { email: 'ann@example.org', password: 'long enough', name: 'Ann' })
  ).json() as any;
  assert.equal(user.email, 'ann@example.org');
  assert.equal((await post('/api/auth/users', { email: 'ann@example.org' })).status, 409);
  assert.deepEqual(
    (await json('/api/auth/users')).users.map(({ name }: any) => name),
    ['Ann'],
  );
  assert.deepEqual(((await post('/api/auth/query', { sql: 'SELECT name FROM user' })).json() as any).rows, [['Ann']]);
  assert.deepEqual(await json('/api/auth/settings'), { enabled: true, providers: [], requiresVerification: false });
  assert.equal((await ask(`/api/auth/users/${user.id}`, { method: 'DELETE' })).status, 204);
  assert.deepEqual((await json('/api/auth/users')).users, []);
});

test('`/rpc` does what a binding does inside a worker, with values that JSON lacks', async () => {
  const rpc = async (binding: string, method: string, ...args: unknown[]): Promise<any> =>
    (await post('/rpc', { binding, method, args })).json();
  assert.deepEqual(await rpc('KV', 'put', 'k', { $bytes: 'AAEC' }, { metadata: { a: 1 } }), {
    result: { $undefined: true },
  });
  assert.deepEqual(await rpc('KV', 'get', 'k', 'arrayBuffer'), { result: { $bytes: 'AAEC' } });
  assert.deepEqual(await rpc('KV', 'get', ['k', 'none']), {
    result: {
      $map: [
        ['k', '\0\u0001\u0002'],
        ['none', null],
      ],
    },
  });
  assert.deepEqual(await rpc('KV', 'update', 'n', { $inc: { count: 2 } }), { result: { count: 2 } });
  await rpc('CACHE', 'set', 'greeting', 'hi');
  assert.deepEqual(await rpc('CACHE', 'get', 'greeting'), { result: 'hi' });
  assert.deepEqual(
    (await json('/api/cache/CACHE/entries')).entries.map(({ key }: any) => key),
    ['greeting'],
  );
  assert.deepEqual(await json('/api/cache/CACHE/entries/greeting'), { key: 'greeting', value: 'hi' });
  assert.equal((await ask('/api/cache/CACHE/entries/greeting', { method: 'DELETE' })).status, 204);
  await rpc('FILES', 'put', 'f.txt', 'text');
  const { result } = await rpc('FILES', 'get', 'f.txt');
  assert.deepEqual([result.key, result.size, result.body], ['f.txt', 4, { $bytes: 'dGV4dA==' }]);
  const statement = await post('/rpc', {
    binding: 'DB',
    method: 'prepare',
    args: ['SELECT ?1 AS a'],
    next: [{ method: 'bind', args: [5] }, { method: 'first' }],
  });
  assert.deepEqual(statement.json(), { result: { a: 5 } });
  assert.deepEqual(await rpc('DB', 'prepare', 'SELECT 1'), {
    error: { name: 'TypeError', message: 'The result has no JSON form: go on with "next"' },
  });
  const batch = await rpc('DB', 'batch', [{ sql: 'SELECT 1 AS a' }, { sql: 'SELECT ?1 AS a', params: [2] }]);
  assert.deepEqual(
    batch.result.map(({ results }: any) => results),
    [[{ a: 1 }], [{ a: 2 }]],
  );
  for (const method of ['constructor', '__proto__', 'nothing', 'toString'])
    assert.deepEqual(await rpc('KV', method), {
      error: { name: 'TypeError', message: `The binding KV has no method ${method}` },
    });
  assert.deepEqual(await rpc('vars', 'get'), {
    error: { name: 'TypeError', message: 'platform.yaml declares no binding vars' },
  });
  const large = 'x'.repeat(300_000);
  await rpc('KV', 'put', 'large', large);
  assert.equal((await rpc('KV', 'get', 'large')).result, large);
});

test('the mock server has a route for each kind of binding', async () => {
  assert.deepEqual((await post('/db', { sql: 'SELECT 1 AS one', method: 'first' })).json(), { result: { one: 1 } });
  assert.deepEqual((await post('/state/setJSON', { args: ['s', { a: 1 }] })).json(), { result: { $undefined: true } });
  assert.deepEqual((await post('/state/getJSON', { binding: 'KV', args: ['s'] })).json(), { result: { a: 1 } });
  const sent = (await post('/queue/send', { args: [{ ok: true }] })).json() as any;
  assert.match(sent.result.messageId, /^[0-9a-f-]{36}$/);
  assert.deepEqual(
    ((await post('/fs/list', {})).json() as any).result.objects.map(({ key }: any) => key),
    ['f.txt'],
  );
  assert.deepEqual((await post('/auth/listUsers')).json(), { result: { users: [], cursor: null } });
  assert.deepEqual((await post('/timer/list')).json(), { result: { timers: [], cursor: null } });
  assert.equal((await post('/state/get', { binding: 'OTHER' })).status, 400);
  assert.equal((await post('/sandbox/run')).status, 404);
});

test('requests by another name, of another origin or of no known kind are refused', async () => {
  const refused = async (host: string, headers: Record<string, string> = {}, method = 'GET'): Promise<number> =>
    (await send(port, host, '/api/config', { method, headers })).status;
  assert.equal(await refused(`evil.example:${port}`), 403);
  assert.equal(await refused(`localhost.evil.example:${port}`), 403);
  assert.equal(await refused(`192.168.1.5:${port}`), 403);
  assert.equal(await refused(`localhost:${port}`), 200);
  assert.equal(await refused(`[::1]:${port}`), 200);
  assert.equal(await refused(`localhost:${port}`, { origin: 'http://evil.example' }), 403);
  assert.equal(await refused(`localhost:${port}`, { origin: `http://localhost:${dev.port}` }, 'POST'), 403);
  assert.equal(await refused(`localhost:${port}`, { origin: 'null' }, 'POST'), 403);
  assert.equal(await refused(`localhost:${port}`, { origin: `http://localhost:${port}` }), 200);
  assert.equal(
    await refused(`localhost:${port}`, { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }),
    403,
  );
  assert.equal(await refused(`localhost:${port}`, {}, 'POST'), 405);
  const form = await ask('/rpc', { method: 'POST', body: '{}', headers: { 'content-type': 'text/plain' } });
  assert.deepEqual([form.status, (form.json() as any).code], [400, 'bad_request']);
  assert.equal((await ask('/api/%zz/tables')).status, 404);
  assert.equal((await ask('/api/db/%zz/tables')).status, 400);
  assert.deepEqual((await ask('/api/sandboxes')).json(), { sandboxes: [] });
});

test('the page comes with a policy that lets nothing in from elsewhere', async () => {
  const { headers, text } = await ask('/');
  assert.match(String(headers['content-security-policy']), /^default-src 'none'; script-src 'self';/);
  assert.ok(!/https?:|<script>|style=|\son\w+=/.test(text), text);
  assert.match(text, /<meta name="platform-mode" content="dev"/);
  const assets = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!);
  assert.ok(assets.length >= 2, text);
  for (const path of assets) assert.equal((await ask(path)).status, 200, path);
  assert.equal((await ask('/projects/shop/storage', { headers: { accept: 'text/html' } })).status, 200);
  for (const path of ['/assets/none.js', '/assets/..%2findex.html', '/api/none', '/none'])
    assert.equal((await ask(path)).status, 404, path);
});

test('a request is shown with its headers, secrets masked, and its lines, and is sent again as it came', async () => {
  const sent = await dev.fetch('/again?a=1', {
    method: 'POST',
    body: 'hello',
    headers: { cookie: 'sid=hunter2; a=b', authorization: 'Bearer hunter2', 'x-mine': 'kept' },
  });
  assert.equal(sent.status, 200);
  const isIt = (noted: any): boolean => noted.path === '/again?a=1';
  const { requests } = await untilAnswer('/api/requests', (answer) => answer.requests.some(isIt));
  const { seq } = requests.find(isIt);
  const { text } = await ask(`/api/requests/${seq}`);
  assert.doesNotMatch(text, /hunter2/);
  const { request: found, lines, replay, body } = JSON.parse(text);
  const headers = Object.fromEntries(found.requestHeaders);
  assert.deepEqual(
    [headers['x-mine'], headers.cookie, headers.authorization],
    ['kept', 'sid=•••; a=•••', 'Bearer •••'],
  );
  assert.deepEqual([replay, Buffer.from(body, 'base64').toString()], ['ready', 'hello']);
  assert.deepEqual(
    lines.map(({ message }: any) => message),
    ['asked for /again'],
  );
  assert.equal((await post(`/api/requests/${seq}/replay`)).status, 200);
  await untilAnswer('/api/requests', (answer) => answer.requests.filter(isIt).length === 2);
  assert.equal((await ask('/api/requests/999999')).status, 404);
});

test('random requests never end it, and never get an internal error', async () => {
  const { seed, below, pick } = createSeededRandom();
  const words = [
    'api',
    'db',
    'DB',
    'queue',
    'JOBS',
    'state',
    'KV',
    'entries',
    'messages',
    'workflow',
    'ORDER',
    'executions',
    'fs',
    'FILES',
  ];
  words.push(
    'timer',
    'TIMER',
    'cron',
    'NIGHTLY',
    'trigger',
    'auth',
    'users',
    'tables',
    'rpc',
    'query',
    '__proto__',
    '%00',
    '..%2f',
    '%ed%a0%80',
    'x',
  );
  const values = [
    'null',
    '[]',
    '{}',
    '1',
    '"x"',
    '{"sql":1}',
    '{"sql":"\\u0000"}',
    '{"binding":"__proto__","method":"x"}',
    '{"payload":{"a":',
    '{"args":{}}',
  ];
  values.push(
    '{"value":"a","version":{}}',
    '{"id":"\\ud800","at":1e400}',
    '{"binding":"KV","method":"get","args":[{"$bigint":"x"}]}',
    '{"fromStep":[]}',
  );
  for (let round = 0; round < 300; round++) {
    const path = `/${Array.from({ length: 1 + below(6) }, () => pick(words)).join('/')}${pick(['', '?limit=-1', '?cursor=%00', '?prefix=%00'])}`;
    const method = pick(['GET', 'POST', 'PUT', 'DELETE']);
    const options =
      method === 'GET' ? { method } : { method, body: pick(values), headers: { 'content-type': 'application/json' } };
    const { status, text } = await ask(path, options);
    assert.ok(
      status < 500 || status === 501,
      `seed ${seed}: ${method} ${path} ${JSON.stringify(options)}: ${status} ${text}`,
    );
  }
  assert.deepEqual(await json('/health'), { status: 'ok' });
});

test('a port that is taken is warned of, and dev goes on without a dashboard', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port: takenPort } = taken.address() as AddressInfo;
  const other = await mkdtemp(join(tmpdir(), 'platform-dashboard-'));
  await mkdir(join(other, 'src'));
  await writeFile(join(other, 'src/index.ts'), 'export default { fetch: () => new Response("up") };');
  const without = await startDev(other, ['--dashboard-port', String(takenPort)]);
  await without.printed(new RegExp(`There is no dashboard: port ${takenPort} of 127\\.0\\.0\\.1 is taken`));
  assert.equal((await without.fetch('/')).text, 'up');
  await without.close();
  taken.close();
  await rm(other, { recursive: true, force: true });
});
