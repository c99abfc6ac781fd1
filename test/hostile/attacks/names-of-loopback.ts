// Names that lead to this machine. A project answers at its own host and port, as it does visitors: at no other port.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'egress',
  worker: attacker(
    `const urls = ["http://localhost/", "http://LOCALHOST/", "http://localhost./", "http://victim.localhost:22/", "http://nobody.localhost/", "http://ip6-localhost/"]; const answers = new Set(); await Promise.all(urls.map(async (url) => { try { const response = await fetch(url, { signal: AbortSignal.timeout(3000) }); answers.add(url + ' ' + response.status); } catch (error) { answers.add(error.code ?? error.name); } })); return new Response([...answers].sort().join());`,
  ),
  attack: ({ get }) => get(),
  expect: ['200 egress_forbidden', '200 egress_forbidden,fetch_failed', '200 fetch_failed'],
} satisfies Attack;
