// Every spelling of 127.0.0.1.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'egress',
  worker: attacker(
    `const urls = ["http://127.0.0.1/", "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://0x7f.1/", "http://127.1/", "http://127.0.1/", "http://017700000001/", "http://127.0.0.1./", "http://user:pw@127.0.0.1/", "http://127.0.0.1:8081/", "http://0/", "http://0.0.0.0/", "http://127.255.255.254/", "http://%31%32%37.0.0.1/", "http://\\uff11\\uff12\\uff17.0.0.1/", "http://127\\u30020\\u30020\\u30021/"]; const answers = new Set(); await Promise.all(urls.map(async (url) => { try { const response = await fetch(url, { signal: AbortSignal.timeout(3000) }); answers.add(url + ' ' + response.status); } catch (error) { answers.add(error.code ?? error.name); } })); return new Response([...answers].sort().join());`,
  ),
  attack: ({ get }) => get(),
  expect: '200 TypeError,egress_forbidden',
} satisfies Attack;
