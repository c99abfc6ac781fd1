// A thousand polite requests, then a spin in a first entry.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'cpu',
  worker: attacker(`globalThis.count = (globalThis.count ?? 0) + 1; if (globalThis.count > 1000) for (;;); return new Response('polite');`),
  async attack({ get }) {
    const answers = new Set<string>();
    let left = 1050;
    const client = async (): Promise<void> => {
      while (left-- > 0) answers.add(await get());
    };
    await Promise.all(Array.from({ length: 8 }, client));
    return [...answers].sort().join(', ');
  },
  expect: ['200 polite, 500 cpu_limit_exceeded', '200 polite, 500 cpu_limit_exceeded, 503 isolate_replaced'],
} satisfies Attack;
