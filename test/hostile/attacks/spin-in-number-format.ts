// Number.prototype.toFixed, which once wrote down what an entry had used: it ran after the watch had been taken off.
// The clock is read once before: what is loaded with its first use meets the worker's own prototypes.
import { attacker, type Attack } from '#test/setup/hostile.ts';

const worker = attacker(
  `performance.now();
  for (const name of ['toFixed', 'toString']) Number.prototype[name] = () => { for (;;); };
  Array.prototype.push = Array.prototype[Symbol.iterator] = String.prototype.slice = Map.prototype.get = () => { for (;;); };
  const until = performance.now() + 20; while (performance.now() < until); setTimeout(() => {}, 5); return new Response('armed');`,
);

export default {
  kind: 'cpu',
  worker: { attacker: worker, accomplice: worker },
  attack: async ({ get }) => [await get(), await get('/attack', { project: 'accomplice' })].join(', '),
  expect: '200 armed, 200 armed',
  ends: true,
} satisfies Attack;
