// One trace of a request that queues a message that starts a workflow: through engine, broker, supervisor and database,
// out of the API, and into a collector that checks OTLP's shapes.
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { newId } from '#control/records/ids.ts';
import { openPrivatePort } from '#control/process/private-port.ts';
import { collectTelemetry } from '#control/telemetry/collect.ts';
import { collectorAddress } from '#control/telemetry/export-spans.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { openOtlpReceiver, type OtlpReceiver } from '#test/setup/otlp-receiver.ts';
import { PRIVATE_TOKEN } from '#test/setup/platform.ts';
import { startPlatformHere, type PlatformHere } from '#test/setup/platform-here.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { until } from '#test/setup/until.ts';

const yaml = `
queue: { MAIL: mail }
timer: { CLOCK: clock }
workflow: { ORDER: order }
state: { KV: kv }
db: { DB: guests }
service: { AUTH: auth }
object: { ROOM: Room }
`;
const authWorker = `
import { WorkerEntrypoint } from 'cloudflare:workers';
export default class extends WorkerEntrypoint {
  user(id) {
    if (id === 0) throw new TypeError('no such user');
    return { id };
  }
  fetch() { return new Response('from auth', { status: 202 }); }
}`;
const worker = (elsewhere: string): string => `
export class Room {
  say(text) { return text; }
}
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === '/throw') throw new Error('no');
    if (pathname === '/timer') { await env.CLOCK.set('soon', { afterMs: 1 }); return new Response('set'); }
    if (pathname === '/calls') {
      const { id } = await env.AUTH.user(7);
      const { status } = await env.AUTH.fetch('http://auth/login');
      const said = await env.ROOM.getByName('lobby').say('hello');
      const failed = await env.AUTH.user(0).catch((error) => error.message);
      return new Response([id, status, said, failed].join());
    }
    if (pathname === '/tx') {
      await env.DB.transaction(async (tx) => void (await tx.send(env.MAIL, { to: 'ada' })));
      return new Response('sent');
    }
    console.log('asked');
    await env.DB.prepare("SELECT 'hush' AS word, 42 AS n").all();
    const { status } = await fetch('${elsewhere}/secret/path?token=hush');
    await env.MAIL.send({ to: 'ada' });
    return new Response(String(status));
  },
  async message(message, env) { console.log('letter'); await env.ORDER.trigger({ item: 7 }); },
  async timer() { console.log('tick'); },
  workflows: {
    order: {
      async handler({ step, env }) {
        await step.run('save', () => env.KV.put('ordered', 'yes'));
        console.log('ordered');
      },
    },
  },
};`;

interface Span {
  readonly spanId: string;
  readonly parentId: string | null;
  readonly name: string;
  readonly kind: string;
  readonly error: string | null;
  readonly attributes: Readonly<Record<string, unknown>>;
}

let platform: PlatformHere;
let control: TestControl;
let collector: OtlpReceiver;
let elsewhere: Server;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let shop: string;
let auth: string;
const asked: (string | undefined)[] = [];
before(async () => {
  collector = await openOtlpReceiver();
  elsewhere = createServer((request, response) => {
    asked.push(request.headers['traceparent'] as string | undefined);
    response.end('here');
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  database = await createTestDatabase();
  platform = await startPlatformHere({}, { PRIVATE_PORT_TOKEN: PRIVATE_TOKEN }, { postgres: database });
  const origin = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  await platform.deploy('auth', authWorker);
  await platform.deploy('shop', worker(origin), yaml);
  const privatePort = openPrivatePort([`http://127.0.0.1:${platform.privatePort}`], PRIVATE_TOKEN);
  control = await startControl({ privatePort });
  [shop, auth] = [newId('project'), newId('project')];
  await control.sql`
    INSERT INTO control.project (id, organization_id, name)
    VALUES (${shop}, ${control.organizationId}, 'shop'), (${auth}, ${control.organizationId}, 'auth')`;
  // The first attempt is refused: the spans come with the second.
  collector.answers.push(503);
  const address = collectorAddress({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=of%20the%20operator',
  });
  control.deps.background('Collecting lines', () => collectTelemetry(control.deps, privatePort.each, address));
});
after(async () => {
  await platform.close();
  await control.close();
  await collector.close();
  elsewhere.close();
  await database.close();
});

const traceOf = (id: string, project = shop): Promise<{ spans: Span[]; lines: { text: string }[]; ms: number }> =>
  control.call('GET', `/projects/${project}/traces/${id}`).then(({ body }) => body);

test('a request, its SQL, its fetch, its message, the run that starts and its step are one trace', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const remote = 'b7ad6b7169203331';
  const headers = { traceparent: `00-${traceId}-${remote}-01` };
  await until(async () => (await platform.fetch('shop', '/', { headers })).text === '200');
  const { spans, lines } = await until(async () => {
    const trace = await traceOf(traceId);
    return trace.spans?.some(({ name }) => name === 'workflow order') === true ? trace : null;
  });
  const named = (name: string): Span => spans.find((span) => span.name === name)!;
  const parentOf = (name: string): string | undefined =>
    spans.find(({ spanId }) => spanId === named(name).parentId)?.name;
  assert.deepEqual([named('GET /').parentId, named('GET /').kind], [remote, 'server']);
  assert.deepEqual(
    ['database.run', 'fetch', 'queue.send', 'queue mail', 'workflow.trigger', 'workflow order', 'step save'].map(
      (name) => [name, parentOf(name), named(name).kind],
    ),
    [
      ['database.run', 'GET /', 'client'],
      ['fetch', 'GET /', 'client'],
      ['queue.send', 'GET /', 'producer'],
      ['queue mail', 'queue.send', 'consumer'],
      ['workflow.trigger', 'queue mail', 'producer'],
      ['workflow order', 'workflow.trigger', 'internal'],
      ['step save', 'workflow order', 'internal'],
    ],
  );
  assert.equal(named('database.run').attributes['db.query.text'], 'SELECT ? AS word, ? AS n');
  assert.equal(named('fetch').attributes['http.response.status_code'], 200);
  assert.equal(asked.at(-1), `00-${traceId}-${named('fetch').spanId}-01`);
  assert.equal(JSON.stringify(spans).includes('hush'), false);
  assert.deepEqual(lines.map(({ text }) => text).toSorted(), ['asked', 'letter', 'ordered']);
  const { body } = await control.call('GET', `/projects/${shop}/traces?search=get%20/`);
  assert.equal(body.items.find((trace: { traceId: string }) => trace.traceId === traceId).name, 'GET /');
});

test('the same spans come to a collector, in the shapes of OTLP', async () => {
  const { body } = await control.call('GET', `/projects/${shop}/traces/0af7651916cd43dd8448eb211c80319c`);
  const stored: Span[] = body.spans;
  await until(() => stored.every(({ spanId }) => collector.spans.some((span) => span.spanId === spanId)));
  assert.deepEqual(collector.problems, []);
  assert.deepEqual([...collector.services], ['shop']);
  assert.equal(collector.headers[0]!['x-key'], 'of the operator');
  const { parentSpanId, kind } = collector.spans.find(({ name }) => name === 'queue mail')!;
  assert.equal(parentSpanId, stored.find(({ name }) => name === 'queue.send')!.spanId);
  assert.equal(kind, 5);
  // What came twice to the collector, which refused it once, is there once.
  assert.equal(new Set(collector.spans.map(({ spanId }) => spanId)).size, collector.spans.length);
});

test('calls of another project and of an object are spans, which what they call continues', async () => {
  const traceId = '1bf7651916cd43dd8448eb211c80319d';
  const headers = { traceparent: `00-${traceId}-b7ad6b7169203332-01` };
  const { text } = await platform.fetch('shop', '/calls', { headers });
  assert.equal(text, '7,202,hello,no such user');
  const spansOf = async (project: string, count: number): Promise<Span[]> =>
    until(async () => {
      const { spans } = await traceOf(traceId, project);
      return spans !== undefined && spans.length >= count ? spans : null;
    });
  const [own, theirs] = [await spansOf(shop, 6), await spansOf(auth, 3)];
  const callerOf = ({ parentId }: Span): string | undefined => own.find(({ spanId }) => spanId === parentId)?.name;
  const client = own.filter(({ kind }) => kind === 'client');
  assert.deepEqual(client.map((span) => [span.name, callerOf(span)]).toSorted(), [
    ['AUTH.fetch', 'GET /calls'],
    ['AUTH.user', 'GET /calls'],
    ['AUTH.user', 'GET /calls'],
    ['ROOM.say', 'GET /calls'],
  ]);
  const attributes = (name: string) => client.find((span) => span.name === name)!.attributes;
  assert.deepEqual(attributes('AUTH.user'), {
    'platform.binding': 'AUTH',
    'rpc.method': 'user',
    'peer.service': 'auth',
  });
  assert.equal(attributes('AUTH.fetch')['http.response.status_code'], 202);
  assert.deepEqual([attributes('ROOM.say')['object.class'], attributes('ROOM.say')['rpc.method']], ['Room', 'say']);
  assert.deepEqual(theirs.map((span) => [span.name, callerOf(span)]).toSorted(), [
    ['GET /login', 'AUTH.fetch'],
    ['RPC /user', 'AUTH.user'],
    ['RPC /user', 'AUTH.user'],
  ]);
  assert.equal(callerOf(own.find(({ name }) => name === 'object /say')!), 'ROOM.say');
  const counts = async (project: string): Promise<Record<'calls' | 'callers', [string, string, number, number][]>> => {
    const { body } = await control.call('GET', `/projects/${project}/calls`);
    const rows = (list: { project: string; name: string; calls: number; failures: number; msP99: number }[]) =>
      list.map(({ project: other, name, calls, failures, msP99 }) => {
        assert.ok(msP99 > 0);
        return [other, name, calls, failures] as [string, string, number, number];
      });
    return { calls: rows(body.calls), callers: rows(body.callers) };
  };
  const [fetched, called] = [
    ['AUTH.fetch', 1, 0],
    ['AUTH.user', 2, 0],
  ] as const;
  assert.deepEqual(await counts(shop), {
    calls: [
      ['auth', ...called],
      ['auth', ...fetched],
    ],
    callers: [],
  });
  assert.deepEqual(await counts(auth), {
    calls: [],
    callers: [
      ['shop', ...called],
      ['shop', ...fetched],
    ],
  });
});

test('a timer goes on with the trace of the request that set it', async () => {
  const { headers } = await platform.fetch('shop', '/timer');
  const { body } = await until(async () => {
    const found = await control.call('GET', `/projects/${shop}/invocations/${String(headers['x-request-id'])}`);
    return found.status === 200 ? found : null;
  });
  const { spans } = await until(async () => {
    const trace = await traceOf(body.traceId);
    return trace.spans?.some(({ name }) => name === 'timer clock' || name === 'timer CLOCK') === true ? trace : null;
  });
  assert.deepEqual(
    spans.map(({ name }) => name.toLowerCase()),
    ['get /timer', 'timer.set', 'timer clock'],
  );
});

test('a message of a transaction goes on with the trace of the request whose transaction was committed', async () => {
  const { headers } = await platform.fetch('shop', '/tx');
  const { body } = await until(async () => {
    const found = await control.call('GET', `/projects/${shop}/invocations/${String(headers['x-request-id'])}`);
    return found.status === 200 ? found : null;
  });
  const { spans } = await until(async () => {
    const trace = await traceOf(body.traceId);
    return trace.spans?.some(({ name }) => name === 'queue mail') === true ? trace : null;
  });
  const sent = spans.find(({ name }) => name === 'database.send')!;
  assert.deepEqual([sent.kind, sent.attributes['messaging.destination.name']], ['producer', 'mail']);
  assert.equal(spans.find(({ name }) => name === 'queue mail')!.parentId, sent.spanId);
});

test('a request that fails has a span that says why', async () => {
  const { headers } = await platform.fetch('shop', '/throw');
  const failed = await until(async () => {
    const { body } = await control.call('GET', `/projects/${shop}/traces?failed=true`);
    return body.items.find(({ invocation }: { invocation: string }) => invocation === headers['x-request-id']);
  });
  assert.deepEqual(
    [failed.name, failed.error, failed.failures],
    ['GET /throw', 'worker_threw: The worker threw: no', 1],
  );
});
