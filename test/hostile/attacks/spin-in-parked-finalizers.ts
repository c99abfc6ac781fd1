// Finalizers that spin in a few projects at once: V8 runs them outside every entry, where nobody would watch or charge
// them.
import { attacker, type Attack } from '#test/setup/hostile.ts';

const worker = attacker(
  `const registry = (globalThis.registry ??= new FinalizationRegistry(() => { console.log('FINALIZER'); for (;;); }));
  for (let i = 0; i < 1000; i++) registry.register({}, i);
  for (let i = 0; i < 5; i++) { let garbage = []; for (let j = 0; j < 30; j++) garbage.push(new Array(100_000).fill(j)); garbage = null; await scheduler.wait(1); }
  return new Response('done');`,
);

export default {
  kind: 'cpu',
  worker: { attacker: worker, accomplice: worker },
  environment: { WORKER_CPU_LIMIT_MS_FREE: '1000' },
  async attack({ flood, platform }) {
    const charged = platform.logged((line) => /CPU limit exceeded: used \d+ ms of 1000 ms/.test(JSON.stringify(line)));
    const options = { clients: 1, ms: 1500 };
    await Promise.all([flood('/attack', options), flood('/attack', { ...options, project: 'accomplice' })]);
    const nobody = new Promise((resolve) => setTimeout(resolve, 8000, 'nobody was charged').unref());
    const first = await Promise.race([charged.then(() => 'charged'), nobody]);
    const lost = (JSON.stringify(await platform.state()).match(/"lostThreads":[1-9]/g) ?? []).length;
    return `${String(first)}, ${lost} threads lost`;
  },
  expect: 'charged, 0 threads lost',
} satisfies Attack;
