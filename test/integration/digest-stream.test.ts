import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let handler: TestHandler;

before(async () => {
  handler = await startHandler({
    digests: `const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('');
      export default { async fetch(request) {
        const { pathname } = new URL(request.url);
        if (pathname === '/unknown') { try { new crypto.DigestStream('SHA-999'); } catch (error) { return new Response(error.name); } }
        if (pathname === '/chunk') { const stream = new crypto.DigestStream('SHA-1'); const writer = stream.getWriter(); return new Response(await writer.write(5).catch((error) => error.name)); }
        const stream = new crypto.DigestStream(pathname.slice(1));
        await request.body.pipeTo(stream);
        return Response.json({ digest: hex(await stream.digest), bytes: stream.bytesWritten, stream: stream instanceof WritableStream });
      } };`,
  });
});
after(() => handler.close());

test('a digest stream gives the digest of what was piped into it', async () => {
  const body = Buffer.from(Array.from({ length: 1_000_000 }, (_, at) => at % 251));
  for (const [name, node] of [
    ['MD5', 'md5'],
    ['SHA-256', 'sha256'],
    ['sha-512', 'sha512'],
  ] as const) {
    const answer = (await handler.fetch('digests', `/${name}`, { method: 'POST', body })).json();
    assert.deepEqual(answer, { digest: createHash(node).update(body).digest('hex'), bytes: 1_000_000, stream: true });
  }
});

test('an algorithm it does not know and a chunk that is no bytes are refused', async () => {
  assert.equal((await handler.fetch('digests', '/unknown')).text, 'NotSupportedError');
  assert.equal((await handler.fetch('digests', '/chunk')).text, 'TypeError');
});
