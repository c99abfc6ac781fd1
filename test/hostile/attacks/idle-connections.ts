// Five hundred connections that say nothing, where an engine takes a hundred.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`return new Response('served');`),
  environment: { HANDLER_CONNECTIONS_MAX: '100' },
  async attack({ socket, get }) {
    const sockets = await Promise.all(Array.from({ length: 500 }, () => socket()));
    const answer = await get('/attack');
    const open = sockets.filter((each) => !each.destroyed).length;
    for (const each of sockets) each.destroy();
    return `${answer}, ${open <= 100 ? 'at most 100' : open} held`;
  },
  expect: '200 served, at most 100 held',
} satisfies Attack;
