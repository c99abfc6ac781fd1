// A header and a path that would make two requests of one towards a server.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'egress',
  worker: attacker(
    `const answers = new Set(); for (const make of [() => fetch('http://example.invalid/', { headers: { 'x-a': 'b\\r\\nhost: evil' } }), () => fetch('http://example.invalid/', { method: 'GET / HTTP/1.1\\r\\nx: y' }), () => fetch('http://example.invalid/a b\\r\\nHost: evil'), () => fetch('http://example.invalid/', { method: 'CONNECT' }), () => fetch('http://example.invalid/', { method: 'POST', body: 'x', headers: { 'transfer-encoding': 'chunked', 'content-length': '99', host: 'evil' } })]) { try { const r = await make(); answers.add(r.status); } catch (error) { answers.add(error.name); } } return new Response([...answers].sort().join());`,
  ),
  attack: ({ get }) => get(),
  expect: '200 TypeError',
} satisfies Attack;
