// Recursion without end.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(`const deep = () => 1 + deep(); try { deep(); } catch (error) { return new Response(error.name); }`),
  attack: ({ flood }) => flood('/attack', { clients: 2, ms: 1500 }),
  expect: '200 RangeError',
} satisfies Attack;
