// Three thousand requests at a time to a worker that never answers.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`await scheduler.wait(3000); return new Response('late');`),
  environment: { WORKER_CONCURRENCY: '100' },
  attack: ({ flood }) => flood('/attack', { clients: 300, ms: 100 }),
  expect: '200 late, 503 overloaded',
} satisfies Attack;
