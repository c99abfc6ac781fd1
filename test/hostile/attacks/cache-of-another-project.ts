// The cache of another project, by its URLs.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'tenancy',
  worker: {
    attacker: attacker(
      `for (const name of ['default', 'x']) { const cache = name === 'default' ? caches.default : await caches.open(name); const hit = await cache.match('http://owner.localhost/secret'); if (hit !== undefined) return new Response('stolen ' + (await hit.text())); } return new Response('nothing');`,
    ),
    owner: attacker(
      `await caches.default.put('http://owner.localhost/secret', new Response('secret', { headers: { 'cache-control': 'max-age=60' } })); await (await caches.open('x')).put('http://owner.localhost/secret', new Response('secret', { headers: { 'cache-control': 'max-age=60' } })); return new Response('kept ' + (await (await caches.default.match('http://owner.localhost/secret')).text()));`,
    ),
  },
  async attack({ get }) {
    return `${await get('/attack', { project: 'owner' })}, ${await get()}`;
  },
  expect: '200 kept secret, 200 nothing',
} satisfies Attack;
