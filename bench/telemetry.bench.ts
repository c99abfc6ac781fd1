// `npm run bench telemetry`: the cost of recording lines, invocations and traces of a request: CPU of supervisor and
// engine, with and without a control plane that requests them. Then the cost of storing a line by COPY and by INSERT,
// and of counting the usage of an invocation.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { bucketOf, cpuScale, latencyScale } from '../core/histogram.ts';
import { EngineUsage } from '../runtime/engine/metrics/usage.ts';
import { makePartitions } from '../control/telemetry/partitions.ts';
import { openPostgres } from '../postgres/connection.ts';
import { copyRows } from '../postgres/copy-rows.ts';
import { startEmbeddedPostgres } from '../postgres/embedded.ts';
import { migrate } from '../postgres/migrate.ts';
import { openSql } from '../postgres/sql.ts';
import { startPlatform, type TestPlatform } from '../test/setup/platform.ts';
import { loadInTurn, missingWrk, rounds, runWrk, seconds, type Target } from './load.ts';
import { digits, formatTable, median } from './statistics.ts';

const CONNECTIONS = 64;
const UNASKED_MS = 3000;
const ASK_MS = 500;
const hello = `export default { fetch: () => new Response('Hello World') };`;
const writes = `export default { fetch() { console.log('a line of some length, as workers write them'); return new Response('Hello World'); } };`;
const variants: readonly (readonly [name: string, code: string, asks: boolean, environment: Record<string, string>])[] =
  [
    ['hello, nobody asks', hello, false, {}],
    ['hello, recorded', hello, true, {}],
    ['hello, recorded without traces', hello, true, { TRACE_SAMPLE_RATE: '0' }],
    ['a line, nobody asks', writes, false, {}],
    ['a line, recorded', writes, true, {}],
  ];

interface Running extends Target {
  readonly platform: TestPlatform;
  readonly asks: boolean;
}

async function start(name: string, code: string, asks: boolean, environment: Record<string, string>): Promise<Running> {
  const platform = await startPlatform(
    { hello: code },
    {
      ...environment,
      HANDLER_PROCESSES: '1',
      HANDLER_SPARES: '0',
      LOG_UNASKED_MS: String(UNASKED_MS),
      LOG_LEVEL: 'error',
    },
  );
  await platform.answers('hello', 'Hello World');
  const url = `http://127.0.0.1:${platform.port}/`;
  return { name, pid: platform.supervisorPid, url, host: 'hello.localhost', platform, asks };
}

/** As the control plane does, without keeping anything. */
async function takeFrom(platforms: readonly TestPlatform[], signal: AbortSignal): Promise<void> {
  const acknowledged = new Map<TestPlatform, unknown>();
  while (!signal.aborted) {
    for (const platform of platforms) {
      const answer = await platform.ask('/_platform/telemetry', { acknowledged: acknowledged.get(platform) ?? null });
      acknowledged.set(platform, (answer.json() as { id: unknown }).id);
    }
    await delay(ASK_MS);
  }
}

const missing = missingWrk();
if (missing !== null) {
  process.stderr.write(`${missing}\n`);
  process.exit(1);
}
process.stdout.write(
  `CPU time of supervisor and engine per request at ${CONNECTIONS} connections; medians of ${rounds} rounds of ${seconds} s, in turn\n`,
);
const running: Running[] = [];
for (const variant of variants) running.push(await start(...variant));
const stop = new AbortController();
const taking = takeFrom(
  running.filter(({ asks }) => asks).map(({ platform }) => platform),
  stop.signal,
);
// Those that nobody asks record nothing any more.
await delay(UNASKED_MS + 1000);
const readings = await loadInTurn(running, (target) => runWrk(target, { connections: CONNECTIONS }));
stop.abort();
await taking;
await Promise.all(running.map(({ platform }) => platform.close()));
const rows = running.map(({ name }) => {
  const { cpuUs, perSecond, p99Ms, bad } = readings.get(name)!;
  return [name, cpuUs, perSecond, p99Ms, bad];
});
const cpuOf = (name: string): number => readings.get(name)!.cpuUs;
const ratio = (on: string, off: string): string => {
  const times = cpuOf(on) / cpuOf(off);
  return `  ${on} / ${off} = ${digits(times)} (aim: at most 1.1${times > 1.1 ? ', missed' : ''})\n`;
};
process.stdout.write(
  `\n${formatTable(['', 'CPU us', 'requests/s', 'p99 ms', 'non-2xx'], rows)}\n` +
    ratio('hello, recorded', 'hello, nobody asks') +
    ratio('hello, recorded without traces', 'hello, nobody asks') +
    ratio('a line, recorded', 'a line, nobody asks'),
);

const COUNT = 2000;
const folder = mkdtempSync(path.join(tmpdir(), 'platform-bench-'));
const server = await startEmbeddedPostgres({ folder, durable: false });
const migrations = openPostgres({ url: server.url, name: 'bench migrations', connectionsMax: 1 });
await migrate(migrations);
await migrations.close();
const sql = openSql({ url: server.url, name: 'bench', connectionsMax: 1 });
await makePartitions(sql, Date.now());
const columns = 'at project_id deployment_id branch level kind route invocation trace_id text'.split(' ');
const lineRows = Array.from({ length: COUNT }, (_, at) => [
  new Date().toISOString(),
  'prj_0123456789',
  'dabc',
  'main',
  1,
  'http',
  '/api/users/*',
  `invocation-${at}`,
  '0af7651916cd43dd8448eb211c80319c',
  `a line of some length, as workers write them: ${at}`,
]);
const ways: Readonly<Record<string, () => Promise<unknown>>> = {
  COPY: () => sql.begin((tx) => copyRows(tx, 'control.log_line', columns, lineRows)),
  'INSERT of 500': () =>
    sql.begin(async (tx) => {
      for (let at = 0; at < COUNT; at += 500) {
        const objects = lineRows
          .slice(at, at + 500)
          .map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
        await tx`INSERT INTO control.log_line ${tx(objects as Record<string, string>[], ...columns)}`;
      }
    }),
  'INSERT of 1': () =>
    sql.begin((tx) =>
      Promise.all(
        lineRows.map((row) => {
          const object = Object.fromEntries(columns.map((name, i) => [name, row[i]]));
          return tx`INSERT INTO control.log_line ${tx(object as Record<string, string>, ...columns)}`;
        }),
      ),
    ),
};
const figures = new Map(Object.keys(ways).map((way) => [way, { wall: [] as number[], cpu: [] as number[] }]));
for (let round = 0; round <= rounds; round++)
  for (const [way, keep] of Object.entries(ways)) {
    const [from, before] = [performance.now(), process.cpuUsage()];
    await keep();
    const { user, system } = process.cpuUsage(before);
    if (round === 0) continue;
    figures.get(way)!.wall.push(((performance.now() - from) * 1000) / COUNT);
    figures.get(way)!.cpu.push((user + system) / COUNT);
  }
await sql.end();
await server.stop();
rmSync(folder, { recursive: true, force: true });
process.stdout.write(
  `\n${formatTable(
    [`${COUNT} lines in a transaction`, 'us a line', 'of it CPU of the API process'],
    [...figures].map(([way, { wall, cpu }]) => [way, median(wall).toFixed(1), median(cpu).toFixed(1)]),
  )}\n`,
);

const CALLS = 2_000_000;
/** Nanoseconds a call, the median of the rounds. */
function nanoseconds(work: (at: number) => void): string {
  const taken: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const from = performance.now();
    for (let at = 0; at < CALLS; at++) work(at);
    if (round > 0) taken.push(((performance.now() - from) * 1e6) / CALLS);
  }
  return median(taken).toFixed(1);
}
const usage = new EngineUsage().open('shop', 'dabc');
const invocation = { uid: 'i1', kind: 'http', status: 200, cpuMs: 0.1, hostCpuMs: 0 } as const;
const message = { ...invocation, kind: 'queue', status: 0 } as const;
let sum = 0;
const counts: readonly (readonly [string, (at: number) => void])[] = [
  [
    'usage of an invocation',
    (at) => usage.ended(invocation, '/api/users?a=1', false, (at & 15) / 10, at & 63, at & 63),
  ],
  ['the same without a query', (at) => usage.ended(invocation, '/api/users', false, (at & 15) / 10, at & 63, at & 63)],
  ['of a message, which has no path', (at) => usage.ended(message, '', false, (at & 15) / 10, -1, at & 63)],
  ['bucket of the CPU histogram alone', (at) => (sum += bucketOf(cpuScale, (at & 15) / 10))],
  ['bucket of the latency histogram alone', (at) => (sum += bucketOf(latencyScale, at & 63))],
];
process.stdout.write(
  `\n${formatTable(
    ['', 'ns'],
    counts.map(([name, work]) => [name, nanoseconds(work)]),
  )}\n`,
);
if (sum < 0) process.exit(1);
