// Private, shared, link-local and reserved networks.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'egress',
  worker: attacker(
    `const urls = ["http://10.0.0.1/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.1.1/", "http://169.254.169.254/latest/meta-data/", "http://100.64.0.1/", "http://198.18.0.1/", "http://192.0.0.1/", "http://224.0.0.1/", "http://255.255.255.255/", "http://240.0.0.1/", "http://0.1.2.3/"]; const answers = new Set(); await Promise.all(urls.map(async (url) => { try { const response = await fetch(url, { signal: AbortSignal.timeout(3000) }); answers.add(url + ' ' + response.status); } catch (error) { answers.add(error.code ?? error.name); } })); return new Response([...answers].sort().join());`,
  ),
  attack: ({ get }) => get(),
  expect: '200 egress_forbidden',
} satisfies Attack;
