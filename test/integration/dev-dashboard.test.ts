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
import { startDevHere, type TestDev } from '#test/setup/dev.ts';
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
/** Of the mock server. */
let token: string;
/** Below it is the API over bindings, which test/contract/resource-api.ts asks. */
const shop = '/api/projects/shop';

before(async () => {
  folder = await createDashboardProject({
    'src/index.ts': worker,
    'migrations/0001_guests.sql': 'CREATE TABLE guests (id INTEGER PRIMARY KEY, name TEXT, photo BLOB);',
    '.env': 'SECRET=hunter2\n',
  });
  dev = await startDevHere(folder);
  const [, found] = await dev.printed(/Dashboard http:\/\/127\.0\.0\.1:(\d+)/);
  port = Number(found);
  token = ((await dev.fetch('/vars')).json() as any).PLATFORM_MOCK_SERVER_TOKEN;
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
/** Of the mock server. */
const call = (path: string, body: unknown = {}): Promise<TestResponse> =>
  ask(path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
  });

/** Asks until an answer is as it should be. */
function untilAnswer(path: string, isDone: (answer: any) => boolean): Promise<any> {
  return until(async () => {
    const answer = await json(path);
    return isDone(answer) && answer;
  });
}

/** Listens to what happens. */
async function followActivity(): Promise<{ until(is: (noted: any) => boolean): Promise<any>; close(): void }> {
  const headers = { host: `localhost:${port}` };
  const live = request({ host: '127.0.0.1', port, path: '/api/activity', headers }).end();
  const [answer] = await once(live, 'response');
  const lines = createInterface({ input: answer })[Symbol.asyncIterator]();
  const seen: any[] = [];
  return {
    async until(is) {
      while (!seen.some(is)) {
        const { value, done } = await lines.next();
        assert.ok(done !== true, 'the events ended');
        if (value.startsWith('data: ')) seen.push(JSON.parse(value.slice(6)));
      }
      return seen.find(is);
    },
    close: () => live.destroy(),
  };
}

test('the configuration names bindings and variables, and gives no value of one', async () => {
  const { text } = await ask('/api/config');
  const { name, ready, bindings, cron, variables } = JSON.parse(text);
  assert.deepEqual([name, ready], ['shop', true]);
  assert.deepEqual(bindings.db, { DB: 'guests' });
  assert.deepEqual(cron, { NIGHTLY: { schedule: '0 3 1 1 *', timezone: 'UTC' } });
  assert.deepEqual(variables, [
    'PLATFORM_DASHBOARD_URL',
    'PLATFORM_MOCK_SERVER_TOKEN',
    'PLATFORM_MOCK_SERVER_URL',
    'SECRET',
  ]);
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
    PLATFORM_MOCK_SERVER_TOKEN: token,
  });
  assert.match(token, /^[\w-]{43}$/);
  assert.deepEqual((await dev.fetch('/health')).json(), { status: 'ok' });
});

test('requests come with their status and times, and logs beside them, live', async () => {
  const live = await followActivity();
  await dev.fetch('/hello?a=1');
  const found = await live.until((noted) => noted.type === 'request' && noted.path === '/hello?a=1');
  await live.until((noted) => noted.type === 'log' && noted.message === 'asked for /hello');
  live.close();
  assert.deepEqual([found.method, found.status, found.outcome], ['GET', 200, 'ok']);
  assert.ok(found.cpuMs > 0 && found.wallMs >= 0);
  assert.ok((await json('/api/requests')).requests.some((noted: any) => noted.path === '/hello?a=1'));
  assert.ok((await json('/api/logs')).logs.some((noted: any) => noted.message === 'asked for /hello'));
});

test('deliveries are told of with what they were about and how they ended', async () => {
  const live = await followActivity();
  assert.equal(
    (await write('PUT', `${shop}/timers/TIMER/entry?key=t1`, { afterMs: 0, payload: { n: 7 } })).status,
    204,
  );
  await dev.printed(/timer t1 7/);
  assert.deepEqual((await post(`${shop}/schedules/run?name=NIGHTLY`)).json(), { triggered: true });
  await dev.printed(/cron ran/);
  const isTold = (kind: string, name: string, id: string) => (noted: any) =>
    noted.type === 'event' && noted.kind === kind && noted.name === name && noted.id === id;
  for (const is of [isTold('timer', 'TIMER', 't1'), isTold('cron', 'NIGHTLY', '')])
    assert.equal((await live.until(is)).outcome, 'ok');
  live.close();
});

test('`/rpc` does what a binding does inside a worker, with values that JSON lacks', async () => {
  const rpc = async (binding: string, method: string, ...args: unknown[]): Promise<any> =>
    (await call('/rpc', { binding, method, args })).json();
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
  assert.deepEqual(await json(`${shop}/caches/CACHE/entry?key=greeting`), { key: 'greeting', value: 'hi' });
  await rpc('FILES', 'put', 'f.txt', 'text');
  const { result } = await rpc('FILES', 'get', 'f.txt');
  assert.deepEqual([result.key, result.size, result.body], ['f.txt', 4, { $bytes: 'dGV4dA==' }]);
  const statement = await call('/rpc', {
    binding: 'DB',
    method: 'prepare',
    args: ['SELECT ?1 AS a'],
    next: [{ method: 'bind', args: [5] }, { method: 'first' }],
  });
  assert.deepEqual(statement.json(), { result: { a: 5 } });
  assert.deepEqual(await rpc('DB', 'prepare', 'SELECT 1'), {
    error: { name: 'TypeError', message: 'The result cannot be sent as JSON: continue with "next"' },
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
  assert.deepEqual((await call('/db', { sql: 'SELECT 1 AS one', method: 'first' })).json(), { result: { one: 1 } });
  assert.deepEqual((await call('/state/setJSON', { args: ['s', { a: 1 }] })).json(), { result: { $undefined: true } });
  assert.deepEqual((await call('/state/getJSON', { binding: 'KV', args: ['s'] })).json(), { result: { a: 1 } });
  const sent = (await call('/queue/send', { args: [{ ok: true }] })).json() as any;
  assert.match(sent.result.messageId, /^[0-9a-f-]{36}$/);
  assert.deepEqual(
    ((await call('/fs/list', {})).json() as any).result.objects.map(({ key }: any) => key),
    ['f.txt'],
  );
  assert.deepEqual((await call('/auth/listUsers')).json(), { result: { users: [], cursor: null } });
  assert.deepEqual((await call('/timer/list')).json(), { result: { timers: [], cursor: null } });
  assert.equal((await call('/state/get', { binding: 'OTHER' })).status, 400);
  assert.equal((await call('/sandbox/run')).status, 404);
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
  const form = await ask('/db', {
    method: 'POST',
    body: '{"sql": "SELECT 1"}',
    headers: { 'content-type': 'text/plain', authorization: `Bearer ${token}` },
  });
  assert.deepEqual([form.status, (form.json() as any).code], [400, 'bad_request']);
  assert.equal((await ask('/api/%zz/tables')).status, 404);
  assert.equal((await ask('/api/requests/%zz')).status, 400);
  assert.equal((await ask('/api/requests?after=%zz')).status, 400);
  assert.deepEqual((await ask('/api/sandboxes')).json(), { sandboxes: [] });
});

test('the API over bindings answers its own page alone, about its own project, and takes a body for what it says', async () => {
  const at = `${shop}/state/KV/entry?key=planted`;
  const plant = async (headers: Record<string, string>, host = `localhost:${port}`): Promise<number> =>
    (await send(port, host, at, { method: 'PUT', body: '{"value":"x"}', headers })).status;
  const type = { 'content-type': 'application/json' };
  assert.equal(await plant({ ...type, origin: 'http://evil.example' }), 403);
  assert.equal(await plant({ ...type, origin: 'null' }), 403);
  assert.equal(await plant({ ...type, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }), 403);
  assert.equal(await plant(type, `evil.example:${port}`), 403);
  assert.equal(await plant({ 'content-type': 'text/plain' }), 415);
  assert.equal((await ask(at)).status, 404);
  assert.equal(await plant({ ...type, origin: `http://localhost:${port}` }), 204);
  assert.equal((await json(at)).value, 'x');
  for (const [path, expected] of [
    ['/api/projects/other/resources', 404],
    [`${shop}/none`, 404],
    ['/api/projects/%zz/resources', 400],
    [`${shop}/state/%zz`, 400],
    [`${shop}/resources?branch=main`, 400],
  ] as const)
    assert.equal((await ask(path)).status, expected, path);
  assert.equal((await ask(`${shop}/resources`, { method: 'DELETE' })).status, 405);
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
  const words =
    'resources databases DB tables rows cell query script queues JOBS messages dead redrive workflows ORDER runs run restart ' +
    'events state KV entry files FILES content timers TIMER schedules caches CACHE users sign-in sessions config requests ' +
    'rpc db fs get __proto__ %00 ..%2f %ed%a0%80 %zz x';
  const queries =
    'limit=-1 cursor=%00 prefix=%00 key=k key=%ed%a0%80 run=x table=guests table=%00 name=NIGHTLY dead=true branch=main after=x';
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
    '{"value":"a"}',
    '{"table":"guests","column":"name","key":[{}]}',
    '{"id":"\\ud800","at":1e400}',
    '{"binding":"KV","method":"get","args":[{"$bigint":"x"}]}',
    '{"fromStep":[]}',
  );
  for (let round = 0; round < 300; round++) {
    const segments = Array.from({ length: 1 + below(4) }, () => pick(words.split(' ')));
    const path = `${pick([shop, shop, '/api', ''])}/${segments.join('/')}?${pick(['', ...queries.split(' ')])}`;
    const method = pick(['GET', 'POST', 'PUT', 'DELETE']);
    const options =
      method === 'GET'
        ? { method }
        : {
            method,
            body: pick(values),
            headers: {
              'content-type': 'application/json',
              ...(below(2) === 0 && { authorization: `Bearer ${token}` }),
            },
          };
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
  const without = await startDevHere(other, ['--dashboard-port', String(takenPort)]);
  await without.printed(new RegExp(`There is no dashboard: port ${takenPort} of 127\\.0\\.0\\.1 is taken`));
  assert.equal((await without.fetch('/')).text, 'up');
  await without.close();
  taken.close();
  await rm(other, { recursive: true, force: true });
});
