// Which engine a delivery goes to, and what stands in for one that does not answer.
import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { test } from 'node:test';
import type { QuarantineState } from '#runtime/supervisor/engines/state.ts';
import { parseExposition } from '#test/setup/exposition-reader.ts';
import { ask, codeOf, deliver, event, openEngine, openPort } from '#test/setup/private-port.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';

test('a delivery goes to a home of the deployment, and its answer comes back', async (t) => {
  const seen: string[] = [];
  const named = (name: string): RequestListener =>
    async function (request, response) {
      let body = '';
      for await (const chunk of request.setEncoding('utf8')) body += chunk as string;
      // On a slow machine it is asked for its metrics too.
      if (request.method === 'POST') seen.push(`${name} ${request.method} ${request.url} ${body}`);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"outcome":"ok","result":{"acked":[]}}');
    };
  const engines = [
    await openEngine(t, named('first'), { place: 0 }),
    await openEngine(t, named('second'), { place: 1 }),
  ];
  const homes = (deployment: string, places: readonly number[]): number[] =>
    deployment === 'shop/d1' ? [...places].reverse() : [...places];
  const port = await openPort(t, { engines, deps: { homes } });
  const answer = await deliver(port);
  assert.deepEqual([answer.status, answer.text], [200, '{"outcome":"ok","result":{"acked":[]}}']);
  await deliver(port, JSON.stringify({ ...(JSON.parse(event) as object), project: 'shop' }));
  assert.deepEqual(
    seen.map((line) => line.split(' ').slice(0, 3).join(' ')),
    ['first POST /_platform/deliver', 'second POST /_platform/deliver'],
  );
  assert.ok(seen[0]!.endsWith(' 15\n{"messages":[]}'));
  const metrics = parseExposition((await ask(port, '/metrics')).text);
  assert.equal(metrics.value('platform_deliveries_total', { kind: 'queue', status: '200' }), 2);
});

test('what the broker delivers passes through unread, by its headers', async (t) => {
  const seen: unknown[] = [];
  const only = await openEngine(
    t,
    async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { 'platform-deployment': deployment, 'platform-kind': kind } = request.headers;
      if (request.method === 'POST') seen.push(deployment, kind, Buffer.concat(chunks).toString());
      response.end('{}');
    },
    { place: 0 },
  );
  const port = await openPort(t, { engines: [only] });
  const headers = {
    'content-type': 'application/vnd.platform.event',
    'platform-deployment': 'd1',
    'platform-project': 'shop',
    'platform-kind': 'queue',
  };
  assert.equal((await deliver(port, '2,5\n{}no JS', headers)).status, 200);
  assert.deepEqual(seen, ['d1', 'queue', '2,5\n{}no JS']);
  const refused = await deliver(port, '2\n{}', { ...headers, 'platform-kind': 'http' });
  assert.deepEqual([refused.status, codeOf(refused)], [400, 'bad_request']);
});

test('an engine that was not reached is replaced by the next, one that broke off is not', async (t) => {
  let calls = 0;
  const good = await openEngine(t, (_request, response) => void response.end(`{"calls":${++calls}}`));
  const cutting = await openEngine(t, (request) => request.socket.destroy());
  const gone = await openEngine(t, null);
  assert.equal((await deliver(await openPort(t, { engines: [gone, good] }))).text, '{"calls":1}');
  const lost = await deliver(await openPort(t, { engines: [cutting, good] }));
  assert.deepEqual([lost.status, codeOf(lost), lost.headers['retry-after'], calls], [503, 'engine_lost', '1', 1]);
  const none = await deliver(await openPort(t, { engines: [gone] }));
  assert.deepEqual([none.status, codeOf(none)], [503, 'no_engine']);
});

test('a deployment that is quarantined gets its own engine, or has to wait', async (t) => {
  const good = await openEngine(t, (_request, response) => void response.end('"anybody"'));
  const own = await openEngine(t, (_request, response) => void response.end('"own"'), {
    role: 'quarantine',
    place: 'shop/d1',
  });
  const kept = (until: string | null): QuarantineState[] => [
    { deployment: 'shop/d1', since: '', strikes: 2, until, reason: 'it kills engines' },
  ];
  assert.equal((await deliver(await openPort(t, { engines: [good, own], quarantine: kept(null) }))).text, '"own"');
  const later = new Date(Date.now() + 30_000).toISOString();
  for (const quarantine of [kept(later), kept(null)]) {
    const refused = await deliver(await openPort(t, { engines: [good], quarantine }));
    assert.deepEqual([refused.status, codeOf(refused)], [503, 'deployment_quarantined']);
  }
});

test('deliveries are bounded in size and number', async (t) => {
  const waiting: (() => void)[] = [];
  const slow = await openEngine(t, (_request, response) => void waiting.push(() => response.end('{}')));
  const port = await openPort(t, { engines: [slow] });
  const large = await deliver(port, JSON.stringify({ deployment: 'd1', kind: 'queue', event: 'x'.repeat(1000) }));
  assert.deepEqual([large.status, codeOf(large)], [413, 'body_too_large']);
  const running = [deliver(port), deliver(port)];
  while (waiting.length < 2) await new Promise((resolve) => setImmediate(resolve));
  const shed = await deliver(port);
  assert.deepEqual([shed.status, codeOf(shed), shed.headers['retry-after']], [503, 'deliveries_overloaded', '1']);
  for (const answer of waiting) answer();
  assert.deepEqual(
    (await Promise.all(running)).map(({ status }) => status),
    [200, 200],
  );
});

test('whatever a delivery holds, it is answered and never reaches an engine malformed', async (t) => {
  const bodies: string[] = [];
  const eager = await openEngine(t, async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk as string;
    // On a slow machine it is asked for its metrics too.
    if (request.method === 'POST') bodies.push(body);
    response.end('{}');
  });
  const port = await openPort(t, { engines: [eager] });
  const random = createSeededRandom();
  const pieces = [
    '{',
    '}',
    '"deployment":',
    '"d1"',
    ',',
    '"kind":',
    '"queue"',
    '"http"',
    '"event":',
    'null',
    '1',
    '[',
    ']',
    '\\',
    '\u0000',
    'é',
    '"',
  ];
  for (let run = 0; run < fuzzRounds(20); run++) {
    const { status } = await deliver(port, random.text(pieces, 12));
    assert.ok(status === 400 || status === 200, `seed ${random.seed}: ${status}`);
  }
  for (const body of bodies) {
    const { deployment, kind, event: given } = JSON.parse(body) as Record<string, unknown>;
    assert.ok(
      typeof deployment === 'string' && kind === 'queue' && given !== undefined,
      `seed ${random.seed}: ${body}`,
    );
  }
});
