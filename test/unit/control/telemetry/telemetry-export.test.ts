// Spans on their way to a collector, over a real socket: what waits has a bound, and what finds no room is counted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLog } from '#core/log/log.ts';
import { SpanExporter } from '#control/telemetry/export-spans.ts';
import type { OwnedSpan } from '#control/telemetry/otlp.ts';
import { openOtlpReceiver } from '#test/setup/otlp-receiver.ts';
import { until } from '#test/setup/until.ts';

const span = (at: number): OwnedSpan => ({
  project: 'shop',
  projectId: 'prj_1',
  deploymentId: 'dabc',
  branch: 'main',
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: (at + 1).toString(16).padStart(16, '0'),
  parentId: null,
  name: 'GET /',
  kind: 2,
  at: Date.now(),
  ms: 1,
  error: null,
  invocation: 'i1',
  attributes: {},
  links: [],
});

test('what finds no room is dropped and counted, the rest arrives', async () => {
  const receiver = await openOtlpReceiver();
  const stop = new AbortController();
  const exporter = new SpanExporter({
    address: { url: `${receiver.url}/v1/traces`, headers: {}, isPrivate: true },
    log: openLog('api', {}, { write: () => {} }),
    stopping: stop.signal,
    waitingMax: 10,
  });
  exporter.add(Array.from({ length: 25 }, (_, at) => span(at)));
  assert.deepEqual([exporter.waiting, exporter.dropped], [10, 15]);
  assert.equal(exporter.problem, 'Spans arrived faster than the collector accepted them');
  const done = exporter.run();
  await until(() => exporter.sent === 10);
  assert.deepEqual([exporter.waiting, exporter.dropped, receiver.spans.length], [0, 15, 10]);
  assert.deepEqual(receiver.problems, []);
  stop.abort();
  await done;
  await receiver.close();
});

test('an address that may not be private is not connected to', async () => {
  const receiver = await openOtlpReceiver();
  const stop = new AbortController();
  const exporter = new SpanExporter({
    address: { url: receiver.url.replace('http:', 'https:'), headers: {}, isPrivate: false },
    log: openLog('api', {}, { write: () => {} }),
    // Not tried again: the process ends.
    stopping: stop.signal,
  });
  const done = exporter.run();
  exporter.add([span(0)]);
  await until(() => exporter.waiting === 0 || null);
  stop.abort();
  await done;
  assert.deepEqual([exporter.sent, exporter.dropped, receiver.headers.length], [0, 1, 0]);
  assert.match(exporter.problem ?? '', /private address/);
  await receiver.close();
});
