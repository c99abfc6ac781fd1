// PBKDF2 through crypto.subtle, fifty at a time and awaited by nobody: the response is out before the first of them
// ends.
import { attacker, type Attack } from '#test/setup/hostile.ts';

const worker = attacker(
  `const key = await crypto.subtle.importKey('raw', new Uint8Array(16), 'PBKDF2', false, ['deriveBits']); const derive = () => crypto.subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-512', salt: new Uint8Array(16), iterations: 100_000 }, key, 512); if (url.search === '?waits') { await Promise.all(Array.from({ length: 50 }, derive)); return new Response('derived'); } for (let i = 0; i < 50; i++) ctx.waitUntil(derive().then(derive)); return new Response('gone on');`,
);

export default {
  kind: 'cpu',
  worker: { attacker: worker, accomplice: worker },
  async attack({ flood }) {
    const options = { clients: 4, ms: 1500 };
    const answers = await Promise.all([
      flood('/attack?waits', options),
      flood('/attack', { ...options, project: 'accomplice' }),
    ]);
    return answers.join(' and ');
  },
  // An answer that is out cannot be taken back; what goes on behind it is ended.
  expect: [
    '500 cpu_limit_exceeded and 500 cpu_limit_exceeded',
    '500 cpu_limit_exceeded and 200 gone on',
    '500 cpu_limit_exceeded and 200 gone on, 500 cpu_limit_exceeded',
  ],
} satisfies Attack;
