// A tenant that lets the host work for it until its budget is used up: /crypto, /brotli, /sql, /users.
import { generateKeyPairSync, privateDecrypt, publicEncrypt } from 'node:crypto';
import { Buffer } from 'node:buffer';

const text = Array.from({ length: 30_000 }, (_, i) => `<li id="${(i * 7919) % 9973}">${Math.sqrt(i)}</li>`).join('');
let keys;

async function derive() {
  const key = await crypto.subtle.importKey('raw', new Uint8Array(16), 'PBKDF2', false, ['deriveBits']);
  await crypto.subtle.deriveBits(
    { name: 'PBKDF2', hash: 'SHA-512', salt: new Uint8Array(16), iterations: 50_000 },
    key,
    512,
  );
}

const kinds = {
  '/crypto': async () => {
    keys ??= generateKeyPairSync('rsa', { modulusLength: 2048 });
    const sealed = publicEncrypt(keys.publicKey, Buffer.from('x'));
    for (;;) {
      await Promise.all(Array.from({ length: 4 }, derive));
      for (let left = 20; left > 0; left--) privateDecrypt(keys.privateKey, sealed);
    }
  },
  '/brotli': async () => {
    for (;;) await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream('brotli'))).arrayBuffer();
  },
  '/sql': async ({ DB }) => {
    const count =
      'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT count(*) AS c FROM n';
    for (;;) await DB.prepare(count).first();
  },
  '/users': async ({ USERS }) => {
    for (;;) await USERS.createUser({ email: `${crypto.randomUUID()}@example.org`, password: 'long enough' });
  },
};

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    await kinds[pathname]?.(env);
    // What is loaded with the first user of an engine is none of the rows.
    if (pathname === '/ready') await env.USERS.getUser('nobody');
    return new Response('attacker');
  },
};
