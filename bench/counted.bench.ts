// `npm run bench counted`: whether overview, analytics, usage, alert and stored requests match the counts of a separate
// client, which sends 200 requests a second for a minute, 1 % of them failing, and 40 others a second. Runs a whole
// platform with its defaults, and exits with 1 if a count is wrong. BENCH_SECONDS sets the duration.
import { mkdirSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import path from 'node:path';
import { startWholePlatform, eventually, type Json, type WholePlatform } from '../test/setup/whole-platform.ts';
import { formatTable, percentile } from './statistics.ts';

const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 60);
const TICK_MS = 10;
/** From this time on an invocation is slow, and kept before others. */
const SLOW_MS = 1000;
/** Alerts are evaluated every 30 s. */
const LOOK_MS = 500;
const worker = `
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === '/throws') throw new Error('no such order');
    if (pathname === '/fails') return new Response('bad', { status: 500 });
    if (pathname === '/slow') await pause(${SLOW_MS + 100});
    return new Response('hello');
  },
};`;

/** What a client saw. */
interface Seen {
  readonly statuses: Record<'2xx' | '5xx', number>;
  slow: number;
  /** Requests without a response. */
  lost: number;
  readonly firstByteMs: number[];
}

/** The path of a request: of 200, one throws, one fails and one is slow. */
function pathOf(index: number): string {
  return { 49: '/throws', 99: '/slow', 149: '/fails' }[index % 200] ?? '/';
}

/** Sends requests at a steady rate. */
async function visit(port: number, host: string, perSecond: number, seconds: number): Promise<Seen> {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const seen: Seen = { statuses: { '2xx': 0, '5xx': 0 }, slow: 0, lost: 0, firstByteMs: [] };
  const one = (target: string): Promise<void> =>
    new Promise((resolve) => {
      const began = performance.now();
      const sent = request({ host: '127.0.0.1', port, agent, path: target, headers: { host } }, (response) => {
        seen.firstByteMs.push(performance.now() - began);
        if (target === '/slow') seen.slow++;
        seen.statuses[response.statusCode! < 500 ? '2xx' : '5xx']++;
        response.resume().on('close', resolve);
      });
      sent.on('error', () => {
        seen.lost++;
        resolve();
      });
      sent.end();
    });
  const open: Promise<void>[] = [];
  const began = performance.now();
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const due = Math.min(seconds, (performance.now() - began) / 1000) * perSecond;
      while (open.length < Math.floor(due)) open.push(one(pathOf(open.length)));
      if (open.length < seconds * perSecond) return;
      clearInterval(timer);
      resolve();
    }, TICK_MS);
  });
  await Promise.all(open);
  agent.destroy();
  return seen;
}

/** Deploys the worker as a project. @returns its id. */
async function deploy(platform: WholePlatform, name: string): Promise<string> {
  const folder = path.join(platform.folder, name);
  mkdirSync(path.join(folder, 'src'), { recursive: true });
  writeFileSync(path.join(folder, 'platform.yaml'), `name: ${name}\nkind: worker\n`);
  writeFileSync(path.join(folder, 'src/index.ts'), worker);
  await platform.cli(folder, 'deploy', '--prod');
  const { items } = await platform.call('GET', '/projects');
  return items.find((project: Json) => project.name === name).id;
}

/** All stored requests that match. */
async function stored(platform: WholePlatform, id: string, query: string): Promise<number> {
  let count = 0;
  for (let cursor = ''; ;) {
    const page = await platform.call('GET', `/projects/${id}/invocations?limit=100&${query}${cursor}`);
    count += page.items.length;
    if (page.nextCursor === null) return count;
    cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`;
  }
}

const platform = await startWholePlatform({ LOG_LEVEL: 'error' });
const rows: (readonly [what: string, client: number, platform: number, isRight: boolean])[] = [];
const count = (what: string, client: number, found: number, isRight = client === found): void =>
  void rows.push([what, client, found, isRight]);
try {
  const [busy, calm] = [await deploy(platform, 'busy'), await deploy(platform, 'calm')];
  await platform.call('POST', `/projects/${busy}/alert-rules`, {
    name: 'failures',
    kind: 'error_rate',
    threshold: 0.5,
    windowMinutes: 60,
    evaluations: 1,
    channels: [],
  });
  const [busySeen, calmSeen] = await Promise.all([
    visit(platform.ports.handler, 'busy.localhost', 200, SECONDS),
    visit(platform.ports.handler, 'calm.localhost', 40, SECONDS),
  ]);
  for (const [name, id, seen] of [
    ['200/s', busy, busySeen],
    ['40/s', calm, calmSeen],
  ] as const) {
    const { statuses, firstByteMs, slow, lost } = seen;
    const total = statuses['2xx'] + statuses['5xx'];
    // Told every few seconds.
    const analytics: Json = await eventually(
      `${total} requests in analytics`,
      async () => {
        const found = await platform.call('GET', `/projects/${id}/analytics?range=1h`);
        return found.totals.requests >= total && found;
      },
      LOOK_MS,
    );
    const { totals, series } = analytics;
    count(`${name}: requests, analytics`, total, totals.requests);
    count(`${name}: 2xx, analytics`, statuses['2xx'], totals.status['2xx']);
    count(`${name}: 5xx, analytics`, statuses['5xx'], totals.status['5xx']);
    count(`${name}: failures, analytics`, statuses['5xx'], totals.failures);
    count(
      `${name}: failures, sum of minutes`,
      statuses['5xx'],
      series.reduce((sum: number, item: Json) => sum + item.failures, 0),
    );
    const usage = await platform.call('GET', `/projects/${id}/usage?groupBy=route&kind=http`);
    count(`${name}: requests, usage`, total, usage.totals.invocations);
    count(`${name}: failures, usage`, statuses['5xx'], usage.totals.failures);
    const kept = await eventually(
      'stored requests',
      async () => {
        const { items, dropped } = await platform.call('GET', `/projects/${id}/invocations/histogram`);
        const all = items.reduce((sum: number, item: Json) => sum + item.ok + item.failed, 0);
        return all + dropped.invocations >= total && { all, dropped: dropped.invocations };
      },
      LOOK_MS,
    );
    count(`${name}: requests, stored and dropped`, total, kept.all + kept.dropped);
    if (name === '40/s') count(`${name}: requests, stored`, total, kept.all);
    else count(`${name}: requests, stored (sampled)`, total, kept.all, true);
    count(`${name}: failures, stored`, statuses['5xx'], await stored(platform, id, 'outcome=failed'));
    count(`${name}: slow requests, stored`, slow, await stored(platform, id, 'path=/slow'));
    // The histogram is up to 6.25 % off; the client's own waiting is in its figure alone.
    for (const [label, share] of [
      ['p50', 0.5],
      ['p99', 0.99],
    ] as const)
      count(
        `${name}: ${label} of time to first byte, ms`,
        percentile(firstByteMs, share),
        totals.firstByteMs[label],
        true,
      );
    count(`${name}: requests without a response`, lost, lost, lost === 0);
  }
  const failures = busySeen.statuses['5xx'];
  const alert: Json = await eventually(
    'the alert',
    async () => {
      const [rule] = await platform.call('GET', `/projects/${busy}/alert-rules`);
      return rule.message.startsWith(`${failures} of ${busySeen.firstByteMs.length} `) && rule;
    },
    LOOK_MS,
  );
  const percent = (100 * failures) / busySeen.firstByteMs.length;
  count('200/s: failures in percent, alert', percent, alert.value, Math.abs(alert.value - percent) < 1e-9);
  count('200/s: the alert fires', 1, Number(alert.state === 'firing'));
  process.stdout.write(
    `${formatTable(
      ['', 'client', 'platform', ''],
      rows.map(([what, client, found, isRight]) => [what, client, found, isRight ? '' : 'wrong']),
    )}\nThe alert says: ${alert.message}\n`,
  );
} finally {
  await platform.close();
}
process.exit(rows.every(([, , , isRight]) => isRight) ? 0 : 1);
