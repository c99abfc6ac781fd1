// Which pushes only delete, however their bytes arrive.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDeletion } from '#control/git-push/deletion.ts';

const NONE = '0'.repeat(40);
const SOME = 'a'.repeat(40);

/** A line of Git's protocol. */
const line = (text: string): Buffer =>
  Buffer.from((Buffer.byteLength(text) + 4).toString(16).padStart(4, '0') + text, 'latin1');

/** A push in chunks of so many bytes. */
function push(body: Buffer, size: number): Request {
  let at = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= body.length) return controller.close();
      controller.enqueue(new Uint8Array(body.subarray(at, (at += size))));
    },
  });
  return new Request('http://x/', { method: 'POST', body: stream, duplex: 'half' } as RequestInit);
}

const deletions = Buffer.concat([
  ...Array.from({ length: 2000 }, (_, at) => line(`${SOME} ${NONE} refs/heads/b${at}${at === 0 ? '\0 atomic' : ''}\n`)),
  Buffer.from('0000'),
]);

for (const size of [1, 61, 65_536])
  test(`2,000 deletions in chunks of ${size} bytes are read`, async () => {
    assert.deepEqual(Buffer.from((await readDeletion(push(deletions, size)))!), deletions);
  });

for (const [what, body] of [
  ['creates a branch', Buffer.concat([line(`${NONE} ${SOME} refs/heads/a\n`), Buffer.from('0000')])],
  ['has objects behind its commands', Buffer.concat([deletions, Buffer.from('PACK')])],
  ['ends before its commands do', deletions.subarray(0, -10)],
  ['is longer than commands may be', Buffer.alloc(3_000_000, '0')],
] as const)
  test(`a push that ${what} is no deletion`, async () => {
    assert.equal(await readDeletion(push(body, 1000)), null);
  });
