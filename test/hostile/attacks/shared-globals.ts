// Globals that another project could see.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'tenancy',
  worker: {
    attacker: attacker(
      `globalThis.mark = 'mine'; Object.prototype.mark = 'mine'; Array.prototype.mark = 'mine'; return new Response('marked');`,
    ),
    other: attacker(`return new Response(String([globalThis.mark, ({}).mark, [].mark]));`),
  },
  async attack({ get }) {
    return `${await get()}, ${await get('/attack', { project: 'other' })}`;
  },
  expect: '200 marked, 200 ,,',
} satisfies Attack;
