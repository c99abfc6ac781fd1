// How an engine without a gateway beside it asks the API of another machine: by the deployment's token.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createAiOrigin } from '#runtime/engine/bindings/ai-transport.ts';
import { engineAi, gatewaySockets } from '#runtime/supervisor/services/gateway-service.ts';
import { testCaller } from '#test/setup/gateway.ts';

test('the API elsewhere gets the token of the deployment and no word on who calls', async () => {
  const server = createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const transport = createAiOrigin(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const { signal } = new AbortController();
  const request = { method: 'POST', path: '/ai/chat/completions', body: '{}', signal };
  const heard = async (
    more: Pick<Parameters<typeof transport.request>[0], 'headers' | 'caller' | 'token'>,
  ): Promise<IncomingMessage['headers']> => {
    const asked = once(server, 'request') as Promise<[IncomingMessage]>;
    const { statusCode, body } = await transport.request({ ...request, ...more });
    assert.equal(statusCode, 200);
    body.resume();
    return (await asked)[0].headers;
  };
  try {
    const own = await heard({ headers: ['x-platform-ai-caller', 'forged'], caller: testCaller, token: 'pk_ai_d1_x' });
    assert.deepEqual([own.authorization, own['x-platform-ai-caller']], ['Bearer pk_ai_d1_x', undefined]);
    const none = await heard({ headers: [], caller: testCaller, token: null });
    assert.equal(none.authorization, undefined);
    // Of a worker's fetch: it says its token itself.
    const given = await heard({ headers: ['authorization', 'Bearer own'], caller: null, token: null });
    assert.equal(given.authorization, 'Bearer own');
  } finally {
    await transport.close();
    server.close();
    server.closeAllConnections();
  }
});

test('engines ask the gateway of their machine, else that of AI_GATEWAY_URL, else none', () => {
  const url = 'https://api.example.com';
  const elsewhere = { PUBLIC_API_URL: url, AI_GATEWAY_URL: 'http://api:4002/' };
  assert.deepEqual(engineAi({ PUBLIC_API_URL: url }, gatewaySockets('/run/p')), {
    ENGINE_AI_SOCKET: '/run/p/ai-engines.sock',
    ENGINE_AI_URL: `${url}/ai`,
  });
  assert.deepEqual(engineAi(elsewhere, null), { ENGINE_AI_ORIGIN: 'http://api:4002', ENGINE_AI_URL: `${url}/ai` });
  assert.deepEqual(engineAi({}, null), {});
  assert.throws(() => engineAi({ AI_GATEWAY_URL: 'http://api:4002/ai' }, null), /AI_GATEWAY_URL must be the address/);
});
