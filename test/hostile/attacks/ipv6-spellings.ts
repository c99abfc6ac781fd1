// The same in IPv6, and IPv4 inside it.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'egress',
  worker: attacker(
    `const urls = ["http://[::1]/", "http://[::]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[0:0:0:0:0:ffff:7f00:1]/", "http://[::127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://[fe80::1]/", "http://[fc00::1]/", "http://[fd12:3456::1]/", "http://[::ffff:a9fe:a9fe]/", "http://[0000:0000:0000:0000:0000:0000:0000:0001]/"]; const answers = new Set(); await Promise.all(urls.map(async (url) => { try { const response = await fetch(url, { signal: AbortSignal.timeout(3000) }); answers.add(url + ' ' + response.status); } catch (error) { answers.add(error.code ?? error.name); } })); return new Response([...answers].sort().join());`,
  ),
  attack: ({ get }) => get(),
  expect: '200 egress_forbidden',
} satisfies Attack;
