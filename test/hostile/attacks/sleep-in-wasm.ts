// A thread that sleeps for ever in WebAssembly's `memory.atomic.wait32`, which has no limit as `Atomics.wait` has. It
// uses no CPU, so its isolate is abandoned after a bound of time.
import { attacker, type Attack } from '#test/setup/hostile.ts';

/** A function `f` that waits for a change of word 0 of the memory `a.m`, without a timeout. */
const module = 'AGFzbQEAAAABBQFgAAF/AgkBAWEBbQIDAQEDAgEABwUBAWYAAAoOAQwAQQBBAEJ//gECAAs=';

export default {
  kind: 'cpu',
  environment: { WORKER_ATOMICS_WAIT_MS: '100', WORKER_WALL_LIMIT_MS: '120000' },
  worker: attacker(
    `const m = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }); const module = new WebAssembly.Module(Uint8Array.from(atob('${module}'), (c) => c.charCodeAt(0))); return new Response(String(new WebAssembly.Instance(module, { a: { m } }).exports.f()));`,
  ),
  attack: ({ get }) => get('/attack', { waitMs: 120_000 }),
  expect: '503 isolate_replaced',
} satisfies Attack;
