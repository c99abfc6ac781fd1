// Ways to hold memory outside the heap, one after the other, each until the isolate may hold no more of it; then it
// dies. None of them takes an isolate much beyond its limit, and most of what it held is given back before the next
// one. With thousands of small objects that count as 16 KB, V8 can collect for so long that the isolate is replaced.
import { attacker, type Attack } from '#test/setup/hostile.ts';
import {
  HELD_GROWTH_MB_MAX,
  HELD_LEFT_MB_MAX,
  HELD_LIMIT_MB,
  holderOf,
  waysToHoldMemory,
} from '#test/setup/ways-to-hold-memory.ts';

/** Added where Linux hands out memory in blocks of 64 KB, as in `.ci/run`: 318 MB were measured. */
const BLOCKS_MB = 50;

const names = Object.keys(waysToHoldMemory);
const ways = names.slice(names.indexOf('typed arrays')).map((name) => waysToHoldMemory[name]!);

export default {
  kind: 'memory',
  worker: {
    attacker: attacker(''),
    ...Object.fromEntries(ways.map((way, at) => [`way${at}`, holderOf(way, 300)])),
  },
  environment: { WORKER_MEMORY_MB: String(HELD_LIMIT_MB), WORKER_CPU_LIMIT_MS_FREE: '5000' },
  // What one way leaves is there while the next one runs; `npm run bench held-memory` has each alone.
  growthMbMax: HELD_GROWTH_MB_MAX + HELD_LEFT_MB_MAX + BLOCKS_MB,
  attack: async ({ get }) => {
    const answers = new Set<string>();
    for (const at of ways.keys())
      for (const path of ['/hold', '/end']) answers.add(await get(path, { project: `way${at}` }));
    return [...answers].join(', ');
  },
  expect: { must: ['500 memory_limit_exceeded'], may: ['200 more', '200 RangeError', '503 isolate_replaced'] },
} satisfies Attack;
