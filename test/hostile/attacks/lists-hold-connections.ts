// Lists of keys that the database has to look at all keys for, as many at a time as a project may: its connections are
// everybody's.
import type { Attack } from '#test/setup/hostile.ts';

const attacker = `export default { async fetch(request, { KV, JOBS }) {
  const { pathname, searchParams } = new URL(request.url);
  if (pathname === '/fill') {
    const from = Number(searchParams.get('from'));
    await Promise.all(Array.from({ length: 1000 }, (_, at) => KV.put('b' + String(from + at).padStart(9, '0'), 'x')));
    return new Response('filled');
  }
  if (pathname === '/lists') {
    const lists = await Promise.all(Array.from({ length: 200 }, () => KV.list({ prefix: 'a' })));
    return new Response('listed ' + lists.reduce((sum, { keys }) => sum + keys.length, 0));
  }
  if (pathname === '/updates') {
    await Promise.all(Array.from({ length: 500 }, (_, at) => KV.update('u' + at, { $inc: { n: 1 } })));
    return new Response('updated');
  }
  if (pathname === '/sends') {
    await Promise.all(Array.from({ length: 300 }, (_, at) => JOBS.send(at, { dedupeId: 'same ' + (at % 7) })));
    await Promise.all(Array.from({ length: 50 }, () => JOBS.metrics()));
    return new Response('sent');
  }
  return new Response('alive');
} };`;
const neighbour = `export default { async fetch(request, { KV }) {
  const began = Date.now();
  await KV.put('k', 'v');
  await KV.list();
  await KV.update('n', { $inc: { n: 1 } });
  return new Response(String(Date.now() - began));
} };`;
const yaml = 'state: { KV: kept }\nqueue: { JOBS: jobs }\n';
/** The neighbour's put, list and update together, at the 90th percentile. */
const NEIGHBOUR_MS_MAX = 250;

export default {
  kind: 'tenancy',
  worker: { neighbour },
  environment: { DATABASE_URL: '', WORKER_CPU_LIMIT_MS_FREE: '30000' },
  async attack({ platform, get, flood }) {
    await platform.deploy('attacker', attacker, yaml);
    await platform.deploy('neighbour', neighbour, yaml);
    await platform.answers('attacker', 'alive');
    for (let from = 0; from < 120_000; from += 4000)
      await Promise.all([0, 1, 2, 3].map((part) => get(`/fill?from=${from + part * 1000}`)));
    const seen: string[] = [];
    for (const path of ['/lists', '/updates', '/sends']) {
      const over = flood(path, { clients: 4, ms: 3000 });
      const waited: number[] = [];
      for (let until = performance.now() + 2500; performance.now() < until;) {
        const began = performance.now();
        const answer = await get('/', { project: 'neighbour' });
        if (!/^200 \d+$/.test(answer)) return `the neighbour got ${answer}`;
        waited.push(performance.now() - began);
      }
      const slow = waited.toSorted((a, b) => a - b)[Math.floor(waited.length * 0.9)]!;
      seen.push(`${await over}${slow > NEIGHBOUR_MS_MAX ? ` while the neighbour waited ${Math.round(slow)} ms` : ''}`);
    }
    return seen.join(', ');
  },
  expect: '200 listed 0, 200 updated, 200 sent',
} satisfies Attack;
