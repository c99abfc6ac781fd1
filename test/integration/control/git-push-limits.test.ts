// Limits of `git push`: memory, refs and concurrent calls, by the bytes of hostile clients.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { deflateSync } from 'node:zlib';
import { openGitPush } from '#control/git-push/git-push.ts';
import { type TestControl } from '#test/setup/control.ts';
import { until } from '#test/setup/until.ts';
import { startGitPush, type TestGitPush } from '#test/setup/git-push.ts';

const run = promisify(execFile);
let pushes: TestGitPush;
let control: TestControl;

before(async () => {
  pushes = await startGitPush();
  ({ control } = pushes);
  await pushes.pushShop();
});
after(() => pushes.close());

const remote = (name: string, token: string): string => pushes.remote(name, token);

/** A line of Git's protocol. */
const line = (text: string): Buffer =>
  Buffer.from((Buffer.byteLength(text) + 4).toString(16).padStart(4, '0') + text, 'latin1');

/** Objects in a pack, each its type, its size and its bytes. */
function packOf(objects: readonly (readonly [type: number, size: number, before: Buffer, bytes: Buffer])[]): Buffer {
  const head = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1');
  head.writeUInt32BE(objects.length, 8);
  const parts = objects.flatMap(([type, size, before, bytes]) => [headOf(type, size), before, deflateSync(bytes)]);
  const pack = Buffer.concat([head, ...parts]);
  return Buffer.concat([pack, createHash('sha1').update(pack).digest()]);
}

function headOf(type: number, size: number): Buffer {
  const bytes: number[] = [(type << 4) | (size & 15)];
  for (let rest = size >> 4; rest > 0; rest >>= 7) {
    bytes[bytes.length - 1]! |= 0x80;
    bytes.push(rest & 0x7f);
  }
  return Buffer.from(bytes);
}

/** A number as deltas have it. */
function counted(size: number): Buffer {
  const bytes: number[] = [];
  for (let rest = size; ; rest = Math.floor(rest / 128)) {
    bytes.push(rest < 128 ? rest : (rest % 128) | 0x80);
    if (rest < 128) return Buffer.from(bytes);
  }
}

const NONE = '0'.repeat(40);

/** What the repository answers to a push of these refs, each at `commit`. */
async function pushRaw(refs: readonly string[], commit: string, pack: Buffer): Promise<string> {
  const commands = refs.map((ref, at) =>
    line(`${NONE} ${commit} ${ref}${at === 0 ? '\0 report-status side-band-64k' : ''}\n`),
  );
  const answer = await fetch(`http://127.0.0.1:${pushes.port}/git/shop.git/git-receive-pack`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${control.owner.token}`,
      'content-type': 'application/x-git-receive-pack-request',
    },
    body: new Uint8Array(Buffer.concat([...commands, Buffer.from('0000'), pack])),
  });
  return answer.text();
}

test('a small push that would take gigabytes of memory is refused', async () => {
  const base = Buffer.alloc(65_536);
  const name = createHash('sha1').update(`blob ${base.length}\0`).update(base).digest();
  // Each byte copies 64 KB of the base.
  const pieces = 24_000;
  const delta = Buffer.concat([counted(base.length), counted(pieces * base.length), Buffer.alloc(pieces, 0x80)]);
  const pack = packOf([
    [3, base.length, Buffer.alloc(0), base],
    [7, delta.length, name, delta],
  ]);
  assert.ok(pack.length < 1000);
  const said = await pushRaw(['refs/heads/bomb'], 'a'.repeat(40), pack);
  assert.match(said, /fatal: Out of memory/);
  assert.match(said, /unpack unpack-objects abnormal exit/);
});

test('a push of more branches and tags than a repository may have is refused before any is made', async () => {
  const { stdout } = await run('git', ['ls-remote', remote('shop', control.owner.token), 'refs/heads/main']);
  const commit = stdout.slice(0, 40);
  const refs = Array.from({ length: 10_001 }, (_, at) => `refs/tags/much/${at}`);
  const said = await pushRaw(refs, commit, packOf([]));
  assert.match(said, /platform: a repository has at most 10000 branches and tags/);
  assert.match(said, /ng refs\/tags\/much\/10000 pre-receive hook declined/);
  assert.equal((await run('git', ['ls-remote', remote('shop', control.owner.token), 'refs/tags/much/*'])).stdout, '');
});

/** A remote where an account may have one call at a time. `ask` fetches, or pushes a body. */
async function openLimited() {
  const limits = { ...control.deps.limits, gitCallsMax: 4 };
  const limited = await openGitPush({ ...control.deps, limits });
  const ask = async (token: string, body: ReadableStream | null, signal?: AbortSignal): Promise<Response> =>
    (await limited.fetch(
      new Request(`http://x/git/shop.git/${body === null ? 'info/refs?service=git-upload-pack' : 'git-receive-pack'}`, {
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-git-receive-pack-request' },
        ...(body !== null && { method: 'POST', body, duplex: 'half' }),
        ...(signal !== undefined && { signal }),
      } as RequestInit),
    ))!;
  return { ask, close: () => limited.close() };
}

test('a client that left before Git starts gives its slot back', async () => {
  const { ask, close } = await openLimited();
  try {
    // Git may have sent its headers by then.
    await (await ask(control.owner.token, new ReadableStream(), AbortSignal.abort())).text().catch(() => '');
    await until(async () => {
      const answered = await ask(control.owner.token, null);
      await answered.text();
      return answered.status === 200;
    });
  } finally {
    await close();
  }
});

test('one account takes a quarter of the slots of Git, and gives them back', async () => {
  const { ask, close } = await openLimited();
  const other = await control.account('otto', { [control.organizationId]: 'owner' });
  try {
    const gone = new AbortController();
    // Its head is sent, its body never ends.
    let isRefused = true;
    let slow: Promise<unknown> = Promise.resolve();
    await until(async () => {
      // One of these requests may take the only place before it.
      if (isRefused) {
        isRefused = false;
        slow = ask(control.owner.token, new ReadableStream(), gone.signal).then(
          ({ status }) => (isRefused = status === 429),
          () => null,
        );
      }
      const answered = await ask(control.owner.token, null);
      await answered.text();
      return answered.status === 429;
    });
    const refused = await ask(control.owner.token, null);
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '5']);
    const answered = await ask(other.token, null);
    assert.equal(answered.status, 200);
    await answered.text();
    gone.abort();
    await slow;
    await until(async () => {
      const again = await ask(control.owner.token, null);
      await again.text();
      return again.status === 200;
    });
  } finally {
    await close();
  }
});
