// A worker whose top level never ends, asked again and again: it never starts, and each time costs its startup limit.
import type { Attack } from '#test/setup/hostile.ts';

const worker = `for (;;); export default { fetch: () => new Response('late') };`;

export default {
  kind: 'cpu',
  worker: { attacker: worker, accomplice: worker },
  attack: async ({ flood }) => {
    const options = { clients: 4, ms: 1500 };
    const answers = await Promise.all([
      flood('/attack', options),
      flood('/attack', { ...options, project: 'accomplice' }),
    ]);
    return [...new Set(answers)].join(' and ');
  },
  expect: '500 startup_cpu_limit_exceeded',
  ends: true,
} satisfies Attack;
