// What Intl.Segmenter keeps of texts: a copy of two bytes a character outside the heap, for each `segment` and for each
// iterator over it. Five requests, each answered, once took an isolate of 128 MB to 2.7 GB.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(
    `const text = 'x'.repeat(1_000_000);
    try { for (let at = 0; at < 300; at++) { const segments = segmenter.segment(text); kept.push(at % 2 === 0 ? segments : segments[Symbol.iterator]()); } }
    catch (error) { return new Response(error.name + ' with ' + (kept.length <= 64 ? 'no more than its memory' : kept.length + ' texts')); }
    return new Response('got ' + kept.length);`,
    `const segmenter = new Intl.Segmenter('en'); const kept = [];`,
  ),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '5000' },
  growthMbMax: 200,
  attack: async ({ get }) => {
    const answers = new Set<string>();
    for (let left = 5; left > 0; left--) answers.add(await get());
    return [...answers].join(', ');
  },
  expect: '200 RangeError with no more than its memory',
} satisfies Attack;
