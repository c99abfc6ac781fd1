// The string that ends any process with V8 in it, until its deployment is quarantined: after its second kill at the
// latest it reaches no engine that serves others. Where the memory watch is in time, only its isolate ends.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  kills: true,
  worker: attacker(`return new Response(String('x'.repeat(2 ** 28).split('').length));`),
  environment: { WORKER_CPU_LIMIT_MS_FREE: '2000' },
  async attack({ get }) {
    const answers = new Set<string>();
    for (let i = 0; i < 50 && !answers.has('503 deployment_quarantined'); i++) answers.add(await get());
    return [...answers].sort().join(', ');
  },
  expect: { must: ['503 deployment_quarantined'], may: ['500 memory_limit_exceeded', '503 engine_lost', 'ECONNRESET'] },
} satisfies Attack;
