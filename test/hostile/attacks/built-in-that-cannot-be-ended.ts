// One call of a built-in that runs for years and never checks for termination: its isolate is abandoned after a bound
// of CPU, however busy the machine is.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'cpu',
  environment: { WORKER_WALL_LIMIT_MS: '300000' },
  worker: attacker(`return new Response(String(Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)));`),
  attack: ({ get }) => get('/attack', { waitMs: 300_000 }),
  expect: '503 isolate_replaced',
} satisfies Attack;
