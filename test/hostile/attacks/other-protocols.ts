// Protocols that reach files and other services.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'egress',
  worker: attacker(
    `const urls = ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:6379/_x", "unix:/tmp/x", "ws://127.0.0.1/", "blob:null/x", "javascript:1", "http+unix://%2ftmp%2fx/", "about:blank"]; const answers = new Set(); await Promise.all(urls.map(async (url) => { try { const response = await fetch(url, { signal: AbortSignal.timeout(3000) }); answers.add(url + ' ' + response.status); } catch (error) { answers.add(error.code ?? error.name); } })); return new Response([...answers].sort().join());`,
  ),
  attack: ({ get }) => get(),
  expect: [
    '200 fetch_failed',
    '200 TypeError',
    '200 TypeError,fetch_failed',
    '200 TypeError,egress_forbidden,fetch_failed',
    '200 egress_forbidden,fetch_failed',
    '200 TypeError,egress_forbidden',
  ],
} satisfies Attack;
