// Which host calls of a sampled invocation have a span.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostCalls } from '#runtime/engine/bridge/call-names.ts';
import { InvocationSpans } from '#runtime/engine/tracing/invocation-spans.ts';

test('each asynchronous call has a span, apart from work of the host and calls that only go on with a socket', () => {
  const spans = new InvocationSpans({
    telemetry: { span: () => {} },
    invocation: 'i-1',
    startedAt: 0,
    parent: null,
    isInside: false,
    links: [],
    spansMax: 1000,
  });
  const without = Object.entries(hostCalls)
    .filter(([name, kind]) => kind === 'async' && spans.begin(name, {}) === null)
    .map(([name]) => name)
    .filter((name) => !/^(?:crypto|compression)\./.test(name));
  assert.deepEqual(without, ['tcp.startTls', 'tcp.closed', 'tcp.lookup', 'tcp.destroy', 'assets.fetch']);
});
