// The machine itself by all its addresses, public ones among them, and public IPv4 addresses inside IPv6.
import { networkInterfaces } from 'node:os';
import { attacker, type Attack } from '#test/setup/hostile.ts';

const own = Object.values(networkInterfaces())
  .flat()
  .flatMap((each) =>
    each === undefined || each.address.includes('%')
      ? []
      : [each.family === 'IPv6' ? `[${each.address}]` : each.address],
  );

export default {
  kind: 'egress',
  worker: attacker(
    `const answers = new Set(); await Promise.all(${JSON.stringify([...own, '0.0.0.0', '[::]', '[::ffff:8.8.8.8]', '[64:ff9b::808:808]', '[::ffff:0:808:808]'])}.flatMap((host) => [host, host + ':8081']).map(async (host) => { try { const response = await fetch('http://' + host + '/', { signal: AbortSignal.timeout(3000) }); answers.add(host + ' ' + response.status); } catch (error) { answers.add(error.code ?? error.name); } })); return new Response([...answers].sort().join());`,
  ),
  attack: ({ get }) => get(),
  expect: '200 egress_forbidden',
} satisfies Attack;
