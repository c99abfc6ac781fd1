// A short loop over a slow built-in in a long function: V8 looks for an end of execution only when the function's
// budget of bytecodes is used up, tens of thousands of rounds later. The isolate is given up; its thread goes on beside
// the others.
import { attacker, type Attack } from '#test/setup/hostile.ts';

const long = `if (globalThis.never) { const x = {}; ${'x.a = x.b + x.c;'.repeat(500)} }`;

export default {
  kind: 'cpu',
  worker: attacker(
    `${long} const view = new Uint8Array(1_000_000); for (let i = 0; i < 1e5; i++) { view.fill(i); view.fill(i); view.fill(i); } return new Response('late');`,
  ),
  // On a busy machine it takes minutes to use the CPU after which its isolate is abandoned.
  environment: { WORKER_WALL_LIMIT_MS: '300000' },
  attack: ({ get }) => get('/attack', { waitMs: 300_000 }),
  expect: ['503 isolate_replaced', '500 cpu_limit_exceeded'],
} satisfies Attack;
