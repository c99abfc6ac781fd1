// Lines and invocations, from an engine through the supervisor into the database of the control plane and out of its
// API: found by what they say, bounded, and nothing of one project because of another.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { TelemetryBatch } from '#core/telemetry.ts';
import { lineEvents } from '#control/api/events/line-events.ts';
import { newId } from '#control/records/ids.ts';
import { takeTelemetry } from '#control/telemetry/collect.ts';
import { createTelemetryStore, type TelemetryStore } from '#control/telemetry/store.ts';
import { sweepTelemetry } from '#control/telemetry/sweep.ts';
import type { PrivatePort } from '#control/process/private-port.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { startPlatformHere, type PlatformHere } from '#test/setup/platform-here.ts';
import { until } from '#test/setup/until.ts';

const worker = `
export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/e503') return new Response('bad', { status: 503 });
    if (pathname === '/slow') await new Promise((resolve) => setTimeout(resolve, 1000));
    if (pathname === '/throw') throw new Error('no ' + searchParams.get('secret').length);
    if (pathname === '/flood') for (let i = 0; i < 100000; i++) console.log('flood ' + i);
    else if (pathname === '/long') console.log('x'.repeat(100000));
    else if (pathname === '/longer') console.log('y'.repeat(1024 * 1024));
    else if (pathname === '/odd') console.warn('tab\\t, back\\\\slash, line\\nbreak, nul\\0, half \\ud800, <b>100%</b> _');
    else console.log('asked for ' + pathname);
    return new Response('hello');
  },
};`;

let platform: PlatformHere;
let control: TestControl;
let store: TelemetryStore;
let [shop, loud] = ['', ''];
let acknowledged: string | null = null;
before(async () => {
  platform = await startPlatformHere({ shop: worker, loud: worker }, {}, { databases: false });
  const privatePort: PrivatePort = {
    async ask(path: string, body: unknown) {
      const { status, json } = await platform.ask(path, body);
      return { status, body: json() as never };
    },
  } as PrivatePort;
  control = await startControl({ privatePort });
  store = createTelemetryStore(control.deps);
  [shop, loud] = [newId('project'), newId('project')];
  for (const [id, name] of [
    [shop, 'shop'],
    [loud, 'loud'],
  ] as const)
    await control.sql`
      INSERT INTO control.project (id, organization_id, name) VALUES (${id}, ${control.organizationId}, ${name})`;
});
after(async () => {
  await control.close();
  await platform.close();
});

const take = async (): Promise<void> => {
  acknowledged = await takeTelemetry(control.deps, store, acknowledged, 300);
};

/** Asks until there is something, taking what engines recorded meanwhile. */
// oxlint-disable-next-line typescript/no-explicit-any -- whatever the API answered
async function found(path: string): Promise<any[]> {
  return until(async () => {
    await take();
    const { status, body } = await control.call('GET', path);
    assert.equal(status, 200, JSON.stringify(body));
    return body.items.length > 0 ? body.items : null;
  });
}

test('a line is found by its text, its level, its route, its invocation and its trace', async () => {
  const trace = '0123456789abcdef0123456789abcdef';
  const headers = {
    traceparent: `00-${trace}-0123456789abcdef-00`,
    'user-agent': 'tester/1',
    referer: 'https://example.com/page?secret=hush',
    cookie: 'session=hush',
    'x-api-key': 'hush',
  };
  const { headers: answered } = await platform.fetch('shop', '/api/users/7?page=2&token=hush', { headers });
  const invocation = String(answered['x-request-id']);
  for (const filter of [
    'search=ASKED%20for',
    'level=info&route=/api/users/*',
    `invocation=${invocation}`,
    `traceId=${trace}`,
  ]) {
    const [line] = await found(`/projects/${shop}/logs?${filter}`);
    assert.deepEqual(
      { ...line, id: '', at: '', deploymentId: '' },
      {
        id: '',
        at: '',
        level: 'info',
        text: 'asked for /api/users/7',
        deploymentId: '',
        branch: '',
        kind: 'http',
        route: '/api/users/*',
        invocation,
        traceId: trace,
      },
    );
  }
  const [record] = await found(`/projects/${shop}/invocations?path=/api/*`);
  assert.deepEqual(
    [record.id, record.method, record.path, record.status, record.outcome, record.traceId],
    [invocation, 'GET', '/api/users/7', 200, 'ok', trace],
  );
  const { body } = await control.call('GET', `/projects/${shop}/invocations/${invocation}`);
  assert.deepEqual(
    body.lines.map(({ text }: { text: string }) => text),
    ['asked for /api/users/7'],
  );
  const { headers: stored, ...request } = body.request;
  assert.deepEqual(request, {
    query: 'page=2&token=***',
    client: '127.0.0.1',
    requestBytes: 0,
    responseBytes: 5,
  });
  const valueOf = new Map(stored.map(({ name, value }: { name: string; value: string | null }) => [name, value]));
  assert.equal(valueOf.get('user-agent'), 'tester/1');
  assert.equal(valueOf.get('referer'), 'https://example.com/page');
  assert.equal(valueOf.get('cookie'), null);
  assert.deepEqual([valueOf.has('cookie'), valueOf.has('x-api-key')], [true, false]);
  assert.equal(JSON.stringify(body).includes('hush'), false);
  for (const none of ['search=100%25', 'level=warn', 'route=/other', 'branch=login', 'to=2020-01-01T00:00:00Z'])
    assert.deepEqual((await control.call('GET', `/projects/${shop}/logs?${none}`)).body.items, [], none);
});

test('a failed request is told with its code and its stack, and counted over time', async () => {
  await platform.fetch('shop', '/throw?secret=hush');
  const [failure] = await found(`/projects/${shop}/invocations?outcome=failed`);
  assert.deepEqual([failure.path, failure.status, failure.outcome], ['/throw', 500, 'worker_threw']);
  const [line] = await found(`/projects/${shop}/logs?level=error`);
  assert.match(line.text, /^Uncaught Error: no 4\n/);
  const lines = (await control.call('GET', `/projects/${shop}/logs/histogram`)).body;
  assert.deepEqual(lines.items.map(({ info, error }: { info: number; error: number }) => [info > 0, error]).at(-1), [
    true,
    1,
  ]);
  const invocations = (await control.call('GET', `/projects/${shop}/invocations/histogram?buckets=1`)).body;
  assert.equal(invocations.items[0].failed, 1);
  assert.deepEqual(invocations.dropped, { lines: 0, invocations: 0, spans: 0 });
});

test('a response of 5xx is a failure beside an outcome that is ok', async () => {
  await platform.fetch('shop', '/e503');
  const [failure] = await found(`/projects/${shop}/invocations?outcome=failed&path=/e503`);
  assert.deepEqual(
    [failure.path, failure.status, failure.outcome, failure.isFailure, failure.firstByteMs > 0],
    ['/e503', 503, 'ok', true, true],
  );
  const { body } = await control.call('GET', `/projects/${shop}/traces/${failure.traceId}`);
  assert.deepEqual(
    body.spans.map(({ name, error }: { name: string; error: string }) => [name, error]),
    [['GET /e503', 'status 503']],
  );
  const paths = async (query: string): Promise<string[]> =>
    (await control.call('GET', `/projects/${shop}/invocations?${query}`)).body.items.map(
      ({ path }: { path: string }) => path,
    );
  assert.deepEqual((await paths('status=5xx')).toSorted(), ['/e503', '/throw']);
  assert.ok(!(await paths('outcome=ok')).includes('/e503'));
  assert.ok((await paths('status=2xx')).includes('/api/users/7'));
});

test('forty requests at once leave no hole, and each has a trace', async () => {
  await Promise.all(Array.from({ length: 40 }, (_, at) => platform.fetch('shop', `/forty/${at}`)));
  const items = await until(async () => {
    const list = await found(`/projects/${shop}/invocations?route=/forty/*&limit=100`);
    return list.length === 40 ? list : null;
  });
  const { items: traces } = (await control.call('GET', `/projects/${shop}/traces?route=/forty/*&limit=100`)).body;
  const known = new Set(traces.map(({ traceId }: { traceId: string }) => traceId));
  assert.deepEqual(
    items.filter(({ traceId }) => !known.has(traceId)),
    [],
  );
  const { dropped } = (await control.call('GET', `/projects/${shop}/invocations/histogram`)).body;
  assert.deepEqual(dropped, { lines: 0, invocations: 0, spans: 0 });
});

test('what texts may hold comes back as it was, but for NUL and half characters', async () => {
  await platform.fetch('shop', '/odd');
  const [line] = await found(`/projects/${shop}/logs?level=warn&search=%25`);
  assert.equal(line.text, 'tab\t, back\\slash, line\nbreak, nul\ufffd, half \ufffd, <b>100%</b> _');
});

test('pages lead through all lines once, the newest first', async () => {
  for (let count = 0; count < 5; count++) await platform.fetch('shop', `/page/${'abcde'[count]}`);
  await until(async () => (await found(`/projects/${shop}/logs?search=/page/`)).length === 5);
  const texts: string[] = [];
  let next = '';
  do {
    const { body } = await control.call('GET', `/projects/${shop}/logs?search=/page/&limit=2${next}`);
    texts.push(...body.items.map(({ text }: { text: string }) => text.slice(-1)));
    next = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`;
  } while (next !== '');
  assert.equal(texts.join(''), 'edcba');
  assert.equal((await control.call('GET', `/projects/${shop}/logs?cursor=WzEsMl0`)).status, 400);
});

test('lines are found by a regular expression, and an invalid one is refused', async () => {
  await platform.fetch('shop', '/order/417');
  const [line] = await found(`/projects/${shop}/logs?regex=${encodeURIComponent('ORDER/[0-9]{3}$')}`);
  assert.match(line.text, /\/order\/417$/);
  for (const path of ['logs', 'logs/histogram', 'logs/stream']) {
    const headers = { authorization: `Bearer ${control.owner.token}`, accept: 'text/event-stream' };
    const url = `${control.deps.addresses.api}/projects/${shop}/${path}?regex=(`;
    const response = await control.fetch(new Request(url, { headers }));
    assert.match(
      await response.text(),
      /query\.regex: invalid regular expression: parentheses \(\) not balanced/,
      path,
    );
    assert.equal(response.status, 400, path);
  }
});

test('lines are followed as they come, from the one that is known', async () => {
  const [last] = await found(`/projects/${shop}/logs?limit=1`);
  const url = `${control.deps.addresses.api}/projects/${shop}/logs/stream?search=follow&after=${last.id}`;
  const stop = new AbortController();
  const headers = { authorization: `Bearer ${control.owner.token}`, accept: 'text/event-stream' };
  const response = await control.fetch(new Request(url, { headers, signal: stop.signal }));
  await platform.fetch('shop', '/follow/me');
  await found(`/projects/${shop}/logs?search=follow`);
  let text = '';
  for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (text.includes('event: line')) break;
  }
  stop.abort();
  assert.match(text, /\nid: \d+\nevent: line\ndata: {.*"text":"asked for \/follow\/me".*}\n\n/);
});

test('lines are followed without reading older ones again', async () => {
  await platform.fetch('shop', '/older');
  const [older] = await found(`/projects/${shop}/logs?search=/older`);
  const stop = new AbortController();
  const events = lineEvents(control.deps, shop, { search: 'needle' }, 0, stop.signal);
  assert.deepEqual([(await events.next()).value, (await events.next()).value], [': lines\n\n', '']);
  // It matches from now on, but has been read.
  await control.sql`UPDATE control.log_line SET text = 'an old needle' WHERE seq = ${older.id}`;
  await platform.fetch('shop', '/needle');
  await found(`/projects/${shop}/logs?search=/needle`);
  let text = '';
  while (text === '') text = (await events.next()).value ?? 'ended';
  stop.abort();
  await events.return();
  assert.deepEqual(
    [...text.matchAll(/"text":"(.*?)"/g)].map((match) => match[1]),
    ['asked for /needle'],
  );
});

test('a long line is cut, one of a megabyte already in its isolate, and both say so', async () => {
  for (const path of ['/long', '/longer']) await platform.fetch('loud', path);
  const [line] = await found(`/projects/${loud}/logs?search=xxx`);
  assert.equal(line.text, `${'x'.repeat(16_384)} ... (83616 more characters)`);
  const [other] = await found(`/projects/${loud}/logs?search=yyy`);
  assert.equal(other.text, `${'y'.repeat(1024)} [log cut: more than 262144 bytes in one invocation]`);
});

test('a flood of one project is cut and counted, and costs no other project a line', async () => {
  const began = performance.now();
  await Promise.all([platform.fetch('loud', '/flood'), platform.fetch('shop', '/quiet')]);
  await found(`/projects/${shop}/logs?search=/quiet`);
  const { lines } = await until(async () => {
    await take();
    const { body } = await control.call('GET', `/projects/${loud}/logs/histogram?buckets=1`);
    return body.dropped.lines > 0 ? body.dropped : null;
  });
  const { body: kept } = await control.call('GET', `/projects/${loud}/logs/histogram?buckets=1&search=flood`);
  assert.ok(lines > 0);
  // LOG_LINES_PER_SECOND, and twice as many at once.
  const most = 2000 + performance.now() - began;
  assert.ok(kept.items[0].info <= most, `${kept.items[0].info} of 100,000 lines were kept`);
  assert.equal((await control.call('GET', `/projects/${shop}/logs/histogram`)).body.dropped.lines, 0);
});

test('a batch that comes twice is kept once, and what is no record is left out', async () => {
  const line = {
    record: 'line',
    project: 'shop',
    deployment: 'd000000000000',
    at: Date.now(),
    level: 'info',
    kind: null,
  };
  const full = { ...line, route: '', invocation: null, traceId: null, text: 'twice' };
  const bad = [
    'no JSON',
    'null',
    JSON.stringify({ ...full, level: 'loud' }),
    JSON.stringify({ ...full, text: 'a\0b' }),
    JSON.stringify({ ...full, text: 7 }),
    JSON.stringify({ ...full, traceId: 'x' }),
    JSON.stringify({ ...full, project: 'nobody' }),
    JSON.stringify({ ...full, record: 'span' }),
    JSON.stringify({ record: 'dropped', project: 'shop', deployment: '', at: 1, lines: -1, invocations: 0, spans: 0 }),
  ];
  const batch: TelemetryBatch = { id: 'batch', records: [JSON.stringify(full), ...bad].join('\n'), lost: 0 };
  assert.deepEqual(await store.keep(batch), new Set([shop]));
  assert.equal(await store.keep(batch), null);
  assert.equal((await found(`/projects/${shop}/logs?search=twice`)).length, 1);
});

test('what is over its time or its size is forgotten, the oldest first', async () => {
  const { sql, deps } = control;
  const count = async (id: string): Promise<number> =>
    (await sql<{ n: number }[]>`SELECT count(*) AS n FROM control.log_line WHERE project_id = ${id}`)[0]!.n;
  await sweepTelemetry(deps);
  assert.ok((await count(shop)) > 0);
  // A thousand lines of one hour, of a million bytes each as far as the sums know: four hundred may stay.
  await sql`DELETE FROM control.log_line WHERE project_id = ${loud}`;
  await sql`DELETE FROM control.telemetry_hour WHERE project_id = ${loud}`;
  const hour = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000);
  await sql`
    INSERT INTO control.log_line (at, project_id, deployment_id, branch, level, route, text)
    SELECT ${hour}::timestamptz + at * interval '1 second', ${loud}, 'd', 'main', 1, '/', at::text
    FROM generate_series(1, 1000) AS at`;
  await sql`INSERT INTO control.telemetry_hour (project_id, hour, bytes) VALUES (${loud}, ${hour}, 1000000000)`;
  await sweepTelemetry({ ...deps, telemetryLimits: { ...deps.telemetryLimits, projectBytesMax: 400_000_000 } });
  const kept = await sql<
    { text: string }[]
  >`SELECT text FROM control.log_line WHERE project_id = ${loud} ORDER BY at DESC`;
  assert.ok(kept.length >= 350 && kept.length <= 400, String(kept.length));
  // The newest of them, without a gap.
  assert.deepEqual(
    kept.map(({ text }) => Number(text)),
    Array.from(kept, (_, at) => 1000 - at),
  );
  const [sum] = await sql<{ bytes: number }[]>`
    SELECT sum(bytes)::bigint AS bytes FROM control.telemetry_hour WHERE project_id = ${loud}`;
  assert.ok(sum!.bytes <= 400_000_000);
  assert.ok((await count(shop)) > 0);
  await sweepTelemetry(deps, Date.now() + 10 * 86_400_000);
  const [left] = await sql<{ n: number }[]>`
    SELECT count(*) AS n FROM pg_inherits JOIN pg_class ON pg_class.oid = inhparent WHERE relname = 'log_line'`;
  assert.equal(left!.n, 0);
});
