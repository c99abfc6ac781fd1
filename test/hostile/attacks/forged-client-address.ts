// Headers that say who the client is, sent by a client.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'tenancy',
  worker: attacker(
    `return new Response(['x-forwarded-for', 'x-real-ip', 'cf-connecting-ip', 'forwarded', 'true-client-ip'].map((name) => request.headers.get(name)).filter((value) => value !== null && value.includes('6.6.6.6')).length + ' forged');`,
  ),
  attack: ({ get }) =>
    get('/attack', {
      headers: {
        'x-forwarded-for': '6.6.6.6',
        'x-real-ip': '6.6.6.6',
        'cf-connecting-ip': '6.6.6.6',
        forwarded: 'for=6.6.6.6',
        'true-client-ip': '6.6.6.6',
      },
    }),
  expect: '200 0 forged',
} satisfies Attack;
