// The conformance suite of the listener contract (runtime/engine/http/listener.ts), on raw sockets. Run over each
// technology by listener-node.test.ts and listener-uws.test.ts; what a technology cannot do is a skip with its reason
// there.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Listener, OpenListener } from '#runtime/engine/http/listener.ts';
import { bodyCases } from './listener-bodies.ts';
import { limits, type Fact } from './listener-case.ts';
import { connectionCases } from './listener-connections.ts';
import { lifetimeCases } from './listener-lifetime.ts';
import { malformedCases } from './listener-malformed.ts';
import { requestCases } from './listener-requests.ts';
import { wholeResponseCases } from './listener-responses.ts';
import { streamedResponseCases } from './listener-streams.ts';
import { webSocketCases } from './listener-websocket.ts';
import { connectRaw, type RawClient } from './raw-client.ts';

/** A case that a technology does not pass, by its title. */
export interface Skip {
  readonly title: string;
  readonly reason: string;
}

export function listenerSuite(options: {
  open: OpenListener;
  technology: 'node' | 'uws';
  skip: readonly Skip[];
}): void {
  const unused = new Set(options.skip.map(({ title }) => title));

  /** One case with a listener of its own. */
  const fact: Fact = (title, run) => {
    const skip = options.skip.find((candidate) => candidate.title === title);
    unused.delete(title);
    test(title, { ...(skip && { skip: skip.reason }), timeout: 120_000 }, async () => {
      const listeners: Listener[] = [];
      const clients: RawClient[] = [];
      try {
        await run(async (onExchange, more) => {
          const listener = await options.open({ port: 0, host: '127.0.0.1', limits, onExchange, ...more });
          listeners.push(listener);
          return {
            listener,
            async client(from) {
              const client = await connectRaw(listener.port, from);
              clients.push(client);
              return client;
            },
          };
        });
      } finally {
        for (const client of clients) client.socket.destroy();
        for (const listener of listeners) await listener.close();
      }
    });
  };

  describe(`${options.technology} listener`, () => {
    requestCases(fact);
    wholeResponseCases(fact);
    streamedResponseCases(fact);
    describe('an upgrade', () => webSocketCases(fact));
    bodyCases(fact);
    malformedCases(fact);
    connectionCases(fact);
    lifetimeCases(fact, options);

    test('skips only cases that exist', () => assert.deepEqual([...unused], []));
  });
}
