import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Diversion, StreamToHost, StreamToGuest } from '#runtime/engine/bridge/streams.ts';

/** A stream into a guest and one out of it, and what became of them. */
function streams(): {
  from: StreamToGuest;
  to: StreamToHost;
  log: string[];
  sink: { takes: boolean; isOpen: boolean };
  diversion: Diversion;
} {
  const log: string[] = [];
  const sink = { takes: true, isOpen: true };
  const from = new StreamToGuest({ resume: () => log.push('resume'), cancel: () => log.push('cancel') }, 100);
  const to = new StreamToHost(
    {
      write(chunk, transfer) {
        log.push(`${chunk.length}${transfer === true ? ' transferred' : ''}`);
        return sink.takes;
      },
      end: () => log.push('end'),
      destroy: () => log.push('destroy'),
    },
    100,
    (bytes) => log.push(`credit ${bytes}`),
  );
  return { from, to, log, sink, diversion: new Diversion(from, to, () => sink.isOpen) };
}

const bytes = (count: number): Uint8Array => new Uint8Array(count);

test('chunks wait until the guest has sent on what it got, and go past it from then on', () => {
  const { from, to, log, diversion } = streams();
  assert.equal(diversion.write(bytes(1), false), false);
  assert.equal(diversion.write(bytes(2), true), false);
  to.chunk(bytes(7));
  assert.deepEqual(log, ['7 transferred']);
  diversion.handOver();
  assert.deepEqual(log.splice(0), ['7 transferred', '1', '2 transferred', 'resume']);
  assert.equal(diversion.write(bytes(3), true), true);
  diversion.handOver();
  assert.deepEqual(log, ['3 transferred']);
  assert.equal(from.diversion, diversion);
});

test('a source waits for a full sink, and goes on when it drains', () => {
  const { to, log, sink, diversion } = streams();
  sink.takes = false;
  diversion.write(bytes(1), false);
  diversion.handOver();
  assert.deepEqual(log.splice(0), ['1']);
  sink.takes = true;
  to.drained();
  assert.deepEqual(log.splice(0), ['resume']);
  sink.takes = false;
  assert.equal(diversion.write(bytes(2), false), false);
  assert.deepEqual(log, ['2']);
});

test('nothing is written to a sink that is gone', () => {
  const { log, sink, diversion } = streams();
  diversion.handOver();
  sink.isOpen = false;
  assert.equal(diversion.write(bytes(1), false), false);
  assert.deepEqual(log, ['resume']);
});

test('a guest that gives credit for what it got before does not make the source go on', () => {
  const { from, log } = streams();
  from.sent(100);
  from.credit(100);
  assert.deepEqual(log, []);
});
