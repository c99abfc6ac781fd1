// Sockets of the API are closed once their caller loses access. Event streams:
// integration/control/member-removal.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WebSocket } from 'ws';
import { whileAllowed } from '#control/api/request/long-answers.ts';
import { offerSocket, takeSocket } from '#resources/offered-socket.ts';

/** Opens a socket whose access is checked every millisecond. @returns how it was closed. */
async function closeOf(isAllowed: () => Promise<boolean>): Promise<[code: number, reason: string]> {
  const request = new Request('http://api/terminal');
  const talk = offerSocket(request);
  const closed = Promise.withResolvers<[number, string]>();
  takeSocket(request, async () => void (await closed.promise));
  whileAllowed(request, new Response(null, { status: 204 }), { isAllowed, everyMs: 1 });
  const socket = { close: (code: number, reason: string) => closed.resolve([code, reason]) };
  await talk()!(socket as unknown as WebSocket);
  return closed.promise;
}

test('a socket is closed at the first check without access', async () => {
  let checks = 0;
  assert.deepEqual(await closeOf(async () => ++checks < 3), [1008, 'Access revoked']);
  assert.ok(checks >= 3);
});

test('a socket is closed when access cannot be checked', async () => {
  assert.deepEqual(await closeOf(() => Promise.reject(new Error('away'))), [1008, 'Access revoked']);
});

test('access is not checked after the socket has ended', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const request = new Request('http://api/terminal');
  const talk = offerSocket(request);
  takeSocket(request, async () => {});
  let checks = 0;
  const isAllowed = async (): Promise<boolean> => ++checks > 0;
  whileAllowed(request, new Response(null, { status: 204 }), { isAllowed, everyMs: 1 });
  await talk()!({} as WebSocket);
  t.mock.timers.tick(10);
  assert.equal(checks, 0);
});
