// A regular expression whose backtracking wants more stack than there is.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `try { /(?:a|b)*c/.test('ab'.repeat(5e6)); } catch (error) { return new Response(error.name); } return new Response('no match');`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ flood }) => flood('/attack', { clients: 1, ms: 1500 }),
  expect: ['200 RangeError', '200 no match', '200 SyntaxError', '200 InternalError', '500 cpu_limit_exceeded'],
} satisfies Attack;
