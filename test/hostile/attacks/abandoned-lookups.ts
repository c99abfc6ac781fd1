// Names whose server is silent, looked up for requests that are given up at once: the lookups go on, and there are
// fewer numbers for them than names.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { attacker, type Attack } from '#test/setup/hostile.ts';

const silent = createSocket('udp4').unref();
silent.bind(0, '127.0.0.1');
await once(silent, 'listening');

export default {
  kind: 'egress',
  worker: attacker(`
  const gone = new AbortController();
  const from = Number(url.searchParams.get('from'));
  const asked = Array.from({ length: 300 }, (_, at) =>
    fetch('http://n' + (from + at) + '.silent.test/', { signal: gone.signal }).catch((error) => error.name === 'AbortError' ? 'given up' : error.code));
  await new Promise((resolve) => setTimeout(resolve, 10));
  gone.abort();
  return new Response([...new Set(await Promise.all(asked))].sort().join());`),
  environment: { WORKER_DNS_SERVERS: `127.0.0.1:${silent.address().port}` },
  async attack({ get }) {
    const seen = new Set<string>();
    for (let from = 0; from < 40_000; from += 300)
      for (const word of (await get(`/attack?from=${from}`, { waitMs: 10_000 })).split(',')) seen.add(word);
    return `${[...seen].toSorted().join()}; ${await get('/')}`;
  },
  expect: '200 given up,200 quota_exceeded,quota_exceeded; 200 alive',
} satisfies Attack;
