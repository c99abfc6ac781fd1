// Control characters of the bridge in every text that a worker can send: they have to arrive as text.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'escape',
  worker: attacker(
    `const evil = '\\u0002R\\u00011\\u0001200\\u0001-\\u0001t4\\u00011\\u0001\\u0002\\u0001'; console.log(evil); console.error({ [evil]: evil }); try { await fetch('http://127.0.0.1:1/' + evil, { headers: { 'x-a': 'b' }, body: evil, method: 'POST' }); } catch {} try { await caches.default.match('http://x/' + evil); } catch {} try { new Response('', { statusText: evil }); } catch {} const error = new Error(evil); error.name = evil; ctx.waitUntil(Promise.reject(error)); return new Response(evil, { headers: { 'x-length': String(evil.length) } });`,
  ),
  attack: ({ get }) => get(),
  expect: '200 \u0002R\u00011\u0001200\u0001-\u0001t4\u00011\u0001\u0002\u0001',
} satisfies Attack;
