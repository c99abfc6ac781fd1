// The listener contract over requests that one engine forwards to another: what clients and handlers see must be the
// same as without the detour. WebSockets do not take it.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Forwarder } from '#runtime/engine/cluster/forwarder.ts';
import { openReceiver } from '#runtime/engine/cluster/receiver.ts';
import type { Listener, OpenListener } from '#runtime/engine/http/listener.ts';
import { openNodeListener } from '#runtime/engine/http/listener-node.ts';
import { listenerSuite } from './listener.ts';

let forwarded = 0;

const open: OpenListener = async (options) => {
  const folder = await mkdtemp(join(tmpdir(), 'platform-test-'));
  const path = join(folder, 'link');
  const receiver = await openReceiver({
    path,
    ...(options.domains !== undefined && { domains: options.domains }),
    onExchange(deployment, exchange) {
      assert.equal(deployment, 'project/d1');
      forwarded++;
      options.onExchange(exchange);
      return true;
    },
  });
  const forwarder = new Forwarder({
    serveHere: () => assert.fail('nothing is served here'),
    answerLost: (exchange) => exchange.destroy(),
  });
  const counter = { inFlight: 0 };
  const end = async (): Promise<void> => {
    forwarder.close();
    receiver.close();
    await rm(folder, { recursive: true, force: true });
  };
  let listener: Listener;
  try {
    listener = await openNodeListener({
      ...options,
      onExchange(exchange) {
        if (exchange.header('upgrade') !== null) options.onExchange(exchange);
        else forwarder.forward(path, 'project/d1', exchange, counter);
      },
    });
  } catch (error) {
    await end();
    throw error;
  }
  return {
    ...listener,
    drain: (deadlineMs, idle) => listener.drain(deadlineMs, idle).then(end),
    close: () => listener.close().then(end),
  };
};

listenerSuite({
  open,
  technology: 'node',
  skip: [
    {
      title: 'an undeclared body over the limit cuts a response that has begun',
      reason: 'tells the handler a moment after the client',
    },
  ],
});

test('the cases above were forwarded', () => assert.ok(forwarded > 100, String(forwarded)));
