// What a deployment counts before an isolate or a server has it: no isolate is started.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlatformError } from '#core/errors.ts';
import { defaultLimits } from '#core/limits.ts';
import { toWorkerText } from '#core/worker-text.ts';
import { EngineMemory } from '#runtime/engine/bridge/host-memory.ts';
import type { BodySink, Exchange } from '#runtime/engine/http/listener.ts';
import type { RequestRecord } from '#runtime/engine/invocation/request-record.ts';
import { DeploymentCounters } from '#runtime/engine/metrics/counters.ts';
import { EngineUsage } from '#runtime/engine/metrics/usage.ts';
import { noServers } from '#runtime/engine/servers/server-link.ts';
import type { DeploymentConfig } from '#runtime/engine/serving/config.ts';
import { Deployment, type DeploymentDeps } from '#runtime/engine/serving/deployment.ts';
import type { LiveObjects } from '#runtime/engine/serving/objects/live-objects.ts';

/** A deployment that has no isolate to take, and the records of its requests. */
function setup(
  config: Partial<DeploymentConfig>,
  more: Partial<DeploymentDeps> = {},
): { deployment: Deployment; records: RequestRecord[] } {
  const records: RequestRecord[] = [];
  const deps = {
    hostMemory: new EngineMemory(defaultLimits),
    limits: { ...defaultLimits, requestsPerDeploymentMax: 2 },
    counters: new DeploymentCounters('p', 'd000000000000'),
    usage: new EngineUsage().open('p', 'd000000000000'),
    telemetry: null,
    ids: { prefix: 'x', last: 0 },
    proxyRequestId: null,
    explain: null,
    sendErrorPage: () => false,
    onLog() {},
    onRequest: (record: RequestRecord) => void records.push(record),
    recordsAll: true,
    servers: noServers,
    ...more,
  } as unknown as DeploymentDeps;
  const own = { id: 'd000000000000', project: 'p', organization: null, plan: 'free', vars: {}, bindings: {} } as const;
  const code = (): ReturnType<DeploymentConfig['code']> => ({ text: toWorkerText(Buffer.alloc(0)), hash: '' });
  return { deployment: new Deployment({ ...own, code, sourceMap: () => null, ...config }, deps), records };
}

/** A request whose body is read by `sink`. */
function request(bodyBytes: number): { exchange: Exchange; sink: () => BodySink } {
  let sink: BodySink | null = null;
  const exchange = {
    method: 'POST',
    target: '/',
    headerBlock: '',
    bodyBytes,
    header: () => null,
    readBody: (given: BodySink) => void (sink = given),
    send() {},
    onAbort: null,
  } as unknown as Exchange;
  return { exchange, sink: () => sink! };
}

const codes = (records: readonly RequestRecord[]): string[] =>
  records.map(({ outcome }) => (outcome.kind === 'ok' ? 'ok' : outcome.code));

test('a request whose body is being read keeps its deployment open', () => {
  const { deployment, records } = setup({});
  const { exchange } = request(10);
  deployment.fetch(exchange);
  assert.equal(deployment.load, 1);
  exchange.onAbort!();
  assert.deepEqual([deployment.load, codes(records)], [0, ['client_gone']]);
});

test('a body that arrives after its deployment has closed is refused once', () => {
  const { deployment, records } = setup({});
  const { exchange, sink } = request(2);
  deployment.fetch(exchange);
  deployment.close();
  sink().chunk(Buffer.from('ok'));
  sink().end();
  assert.deepEqual([deployment.load, codes(records)], [0, ['draining']]);
});

test('an event that waits for its object keeps its deployment open', () => {
  let waiting: Parameters<LiveObjects['enter']>[2] | null = null;
  const enter: LiveObjects['enter'] = (_place, _owner, event) => void (waiting = event);
  const objects = { enter } as LiveObjects;
  const { deployment, records } = setup(
    { objects: { namespace: 'p', branch: '', preview: null, classes: {} } },
    { objects },
  );
  const address = { id: 'a'.repeat(64), class: 'Room', op: 'fetch', protocol: 'https:' } as const;
  deployment.object(request(0).exchange, address, null, null);
  assert.equal(deployment.load, 1);
  waiting!.refuse(new PlatformError('object_reset', { reason: 'its engine was held up' }));
  assert.deepEqual([deployment.load, codes(records)], [0, ['object_reset']]);
});

test('requests of a server that wait for its databases count to the limit of its deployment', () => {
  const server = { key: 'p/d000000000000', project: 'p', deployment: 'd000000000000' } as never;
  const { deployment, records } = setup({ server, prepare: () => new Promise(() => {}) });
  const waiting = Array.from({ length: 3 }, () => request(0).exchange);
  for (const exchange of waiting) deployment.fetch(exchange);
  assert.deepEqual([deployment.load, codes(records)], [2, ['overloaded']]);
  waiting[0]!.onAbort!();
  assert.deepEqual(codes(records), ['overloaded', 'client_gone']);
});
