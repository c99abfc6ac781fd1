// Users without end: each password is hashed for 50 ms of CPU. A worker that makes them pays for it; visitors who sign
// up are hashed in their app's turn, so many and no more.
import type { Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'cpu',
  yaml: 'auth:\n  binding: USERS\n',
  // The library behind it is loaded by the first who asks, before the attack.
  worker: `const user = () => ({ email: crypto.randomUUID() + '@example.org', password: 'long enough' });
    export default { async fetch(request, { USERS }, ctx) {
      if (new URL(request.url).pathname !== '/attack') { await USERS.getUser('nobody'); return new Response('alive'); }
      for (let i = 0; i < 200; i++) ctx.waitUntil(USERS.createUser(user()));
      for (;;) await USERS.createUser(user());
    } };`,
  async attack({ flood, platform }) {
    const until = performance.now() + 2000;
    const signUps = new Set<number>();
    const visitor = async (address: number): Promise<void> => {
      for (let count = 0; performance.now() < until; count++) {
        const body = JSON.stringify({ email: `v${address}-${count}@example.org`, password: 'long enough' });
        const headers = { 'content-type': 'application/json', 'x-forwarded-for': `203.0.113.${address}` };
        signUps.add((await platform.fetch('attacker', '/auth/signup', { method: 'POST', headers, body })).status);
      }
    };
    const visitors = Promise.all(Array.from({ length: 80 }, (_, address) => visitor(address)));
    const answer = await flood('/attack', { clients: 2, ms: 2000, waitMs: 30_000 });
    await visitors;
    // Each address signs up three times in ten seconds.
    return `${answer}; ${[...signUps].every((status) => status === 200 || status === 429) ? 'signed up or refused' : [...signUps].join()}`;
  },
  environment: { TRUSTED_PROXIES: '127.0.0.1' },
  expect: '500 cpu_limit_exceeded; signed up or refused',
} satisfies Attack;
