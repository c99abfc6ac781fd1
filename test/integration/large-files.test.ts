// Files larger than any memory bound: through a worker in parts, and past it by signed addresses, with a process that
// stays small. LARGE_FILE_MB=1024 sends a gigabyte each way.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { noStores } from '#test/setup/no-stores.ts';
import { openFilesDisk } from '#runtime/stores/files-disk.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

const MEGABYTE = 1024 * 1024;
const megabytes = Number(process.env['LARGE_FILE_MB'] ?? 96);
const PART_MEGABYTES = 16;
/**
 * What the process may grow by, whatever the size of the file: buffers on their way, and garbage that is not collected
 * yet.
 */
const GROWTH_MEGABYTES_MAX = Math.min(128, megabytes - 16);

const worker = `
export default {
  async fetch(request, { FILES }) {
    const { pathname, searchParams } = new URL(request.url);
    const upload = () => FILES.resumeMultipartUpload('large', searchParams.get('id'));
    switch (pathname) {
      case '/begin': return new Response((await FILES.createMultipartUpload('large')).uploadId);
      case '/part': return Response.json(await upload().uploadPart(Number(searchParams.get('n')), request.body));
      case '/complete': return Response.json((await upload().complete(await request.json())).size);
      case '/file': return new Response((await FILES.get(searchParams.get('key'))).body);
      case '/address': return new Response(await FILES.createSignedUrl('signed', { method: searchParams.get('method') }));
    }
  },
};`;

let handler: TestHandler;
let folder: string;
let fs: ReturnType<typeof openFilesDisk>;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'platform-large-'));
  fs = openFilesDisk(folder);
  const limits = { bodyBytesMax: 2 * 1024 * MEGABYTE };
  handler = await startHandler({ app: { files: worker, yaml: 'fs:\n  FILES: large\n' } }, limits, {
    stores: { ...noStores, files: fs },
  });
});
after(async () => {
  await handler.close();
  fs.close();
  await rm(folder, { recursive: true });
});

const megabyte = Buffer.alloc(MEGABYTE, 'platform');

/** The megabyte at a place of the file: no two are alike. */
function chunk(at: number): Buffer {
  const bytes = Buffer.from(megabyte);
  bytes.writeUInt32BE(at);
  return bytes;
}

async function send(method: string, path: string, from: number, count: number): Promise<IncomingMessage> {
  const headers = { host: 'app.localhost', 'content-length': count * MEGABYTE };
  // A connection of its own: one that was kept may end while a gigabyte is sent here.
  const outgoing = request({ host: '127.0.0.1', port: handler.port, method, path, headers, agent: false });
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  for (let at = from; at < from + count; at++) if (!outgoing.write(chunk(at))) await once(outgoing, 'drain');
  outgoing.end();
  return (await answered)[0];
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  let text = '';
  for await (const bytes of incoming) text += (bytes as Buffer).toString();
  assert.equal(incoming.statusCode, 200, text);
  return text;
}

/** Fails unless what comes is the file, byte for byte. */
async function receives(path: string): Promise<void> {
  let at = 0;
  let expected = chunk(0);
  for await (const bytes of await send('GET', path, 0, 0))
    for (let rest = bytes as Buffer; rest.length > 0;) {
      const from = at % MEGABYTE;
      if (from === 0) expected = chunk(at / MEGABYTE);
      const part = rest.subarray(0, MEGABYTE - from);
      assert.ok(part.equals(expected.subarray(from, from + part.length)), `other bytes from ${at} on`);
      at += part.length;
      rest = rest.subarray(part.length);
    }
  assert.equal(at, megabytes * MEGABYTE);
}

/** Megabytes that the process grew by at most while something ran. */
async function growth(work: () => Promise<void>): Promise<number> {
  const before = process.memoryUsage.rss();
  let most = before;
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 20);
  await work();
  clearInterval(watch);
  return Math.round((most - before) / MEGABYTE);
}

test('a large file goes through a worker in parts, and back, in little memory', async (t) => {
  // Buffers of the first bytes are there to stay.
  const warm = await textOf(await send('POST', '/begin', 0, 0));
  await textOf(await send('PUT', `/part?id=${warm}&n=1`, 0, 3 * PART_MEGABYTES));
  const grown = await growth(async () => {
    const id = await textOf(await send('POST', '/begin', 0, 0));
    const parts: unknown[] = [];
    for (let from = 0, n = 1; from < megabytes; from += PART_MEGABYTES, n++)
      parts.push(
        JSON.parse(
          await textOf(await send('PUT', `/part?id=${id}&n=${n}`, from, Math.min(PART_MEGABYTES, megabytes - from))),
        ),
      );
    const completed = await handler.fetch('app', `/complete?id=${id}`, { method: 'POST', body: JSON.stringify(parts) });
    assert.equal(completed.text, String(megabytes * MEGABYTE));
    await receives('/file?key=large');
  });
  t.diagnostic(`${megabytes} MB up and down: the process grew by ${grown} MB at most`);
  assert.ok(grown < GROWTH_MEGABYTES_MAX, `${grown} MB`);
});

test('a large file goes past the worker by signed addresses, in little memory', async (t) => {
  const address = async (method: string): Promise<string> =>
    new URL(await textOf(await send('GET', `/address?method=${method}`, 0, 0))).pathname;
  const grown = await growth(async () => {
    const stored = await textOf(await send('PUT', await address('PUT'), 0, megabytes));
    assert.equal((JSON.parse(stored) as { size: number }).size, megabytes * MEGABYTE);
    await receives(await address('GET'));
  });
  t.diagnostic(`${megabytes} MB up and down: the process grew by ${grown} MB at most`);
  assert.ok(grown < GROWTH_MEGABYTES_MAX, `${grown} MB`);
});
