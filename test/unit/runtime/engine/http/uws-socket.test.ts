// What uWebSockets.js cannot do is done beside it: a WebSocket that its worker is too slow for holds its messages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uwsBehavior, UwsWire } from '#runtime/engine/http/uws-socket.ts';

function openWire(waitingBytesMax: number) {
  const told: string[] = [];
  const sent: (string | number | Uint8Array)[] = [];
  const open = new Set<UwsWire>();
  const wire = new UwsWire({
    events: {
      message: (data) => told.push(typeof data === 'string' ? data : `${data.length} bytes`),
      failed: (message) => told.push(`failed ${message}`),
      closed: (code, reason, clean) => told.push(`closed ${code} ${reason} ${clean}`),
    },
    open,
    waitingBytesMax,
  });
  const { open: opened, message, close } = uwsBehavior({}, 0, null);
  const socket = {
    getUserData: () => ({ wire }),
    send: (data: string | Uint8Array) => sent.push(data),
    getBufferedAmount: () => 7,
    end(code: number, reason: string | Uint8Array) {
      sent.push(`end ${code}`);
      close(socket, code, bytes(String(reason)));
    },
  };
  opened(socket);
  return {
    told,
    sent,
    open,
    wire,
    come: (text: string, isBinary = false) => message(socket, bytes(text), isBinary),
    socket,
    close,
  };
}

function bytes(text: string): ArrayBuffer {
  return new Uint8Array(Buffer.from(text)).buffer;
}

test('messages that come while nobody reads wait, in order, also when the reader stops again', () => {
  const { wire, told, come } = openWire(10_000);
  come('one');
  wire.pause();
  for (const text of ['two', 'three']) come(text);
  come('four', true);
  assert.deepEqual(told, ['one']);
  wire.resume();
  assert.deepEqual(told, ['one', 'two', 'three', '4 bytes']);
});

test('a client that sends more than may wait is closed, and what waits is told before that', () => {
  const { wire, told, sent, come, open } = openWire(1200);
  wire.pause();
  for (const text of ['a', 'b', 'c']) come(text);
  assert.deepEqual(sent, ['end 1013']);
  assert.deepEqual(told, ['a', 'b', 'c', 'closed 1013 Too fast true']);
  assert.equal(open.size, 0);
});

test('a socket that is closed takes nothing more, and a close without a code is one', () => {
  const { wire, told, sent, socket, close } = openWire(1200);
  assert.equal(wire.bufferedBytes, 7);
  wire.send('grüße');
  close(socket, 1005, bytes(''));
  wire.send('late');
  wire.close(1000, 'late');
  assert.deepEqual(sent, [Buffer.from('grüße')]);
  assert.deepEqual(told, ['closed 1005  true']);
  assert.equal(wire.bufferedBytes, 0);
});
