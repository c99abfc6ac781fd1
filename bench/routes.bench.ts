// `npm run bench routes`: the routes of many projects in one engine: memory of a route, a lookup, a start that reads
// all routes, and the CPU of the main thread during one deployment. BENCH_PROJECTS=10000 reduces the number. Takes some
// minutes, and creates 100,000 small files in the temporary folder.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { RouteRecord } from '../core/manifest.ts';
import { openRouteFiles } from '../artifacts/route-source-files.ts';
import { createRouteTable } from '../runtime/engine/router/route-table.ts';
import { temporaryFolder } from './cleanup.ts';
import { digits, formatTable, median } from './statistics.ts';

const PROJECTS = Number(process.env['BENCH_PROJECTS'] ?? 100_000);
const LOOKUPS = 1_000_000;
const DEPLOYS = 15;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const mainThreadMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};
const heapBytes = (): number => {
  collect();
  return process.memoryUsage().heapUsed;
};

const folder = temporaryFolder('platform-bench-routes-');
mkdirSync(path.join(folder, 'routes'));
for (let at = 0; at < PROJECTS; at++) writeRecord(at, 0);

const empty = heapBytes();
const begun = mainThreadMs();
const source = await openRouteFiles({
  folder,
  onProblem: ({ file, reason }) => {
    throw new Error(`${file}: ${reason}`);
  },
});
const readMs = mainThreadMs() - begun;
const records = heapBytes();
const table = createRouteTable(['localhost']);
const beforeTable = mainThreadMs();
table.replace(source.routes);
const tableMs = mainThreadMs() - beforeTable;
const whole = heapBytes();

const hosts = Array.from({ length: 10_000 }, (_, at) => `${nameOf((at * 7919) % PROJECTS)}.localhost`);
let found = 0;
const beforeLookups = mainThreadMs();
for (let at = 0; at < LOOKUPS; at++) if (table.find(hosts[at % hosts.length]!) !== null) found++;
const lookupNs = ((mainThreadMs() - beforeLookups) * 1e6) / LOOKUPS;
if (found !== LOOKUPS) throw new Error(`${LOOKUPS - found} hosts lead nowhere`);

const deploys: number[] = [];
let heard = Promise.withResolvers<void>();
source.onChange((changes) => {
  table.change(changes);
  heard.resolve();
});
for (let deploy = 1; deploy <= DEPLOYS; deploy++) {
  heard = Promise.withResolvers();
  const before = mainThreadMs();
  writeRecord(deploy * 17, deploy);
  await heard.promise;
  deploys.push(mainThreadMs() - before);
  if (table.find(`${nameOf(deploy * 17)}.localhost`)?.vars['N'] !== String(deploy)) throw new Error('not deployed');
}
source.close();

const rows: [string, number, string][] = [
  ['a lookup', lookupNs, 'ns'],
  ['memory of a project in the table', (whole - records) / PROJECTS, 'bytes of heap'],
  ['memory of its record and its file', (records - empty) / PROJECTS, 'bytes of heap'],
  ['start: the files are read', readMs, 'ms of the main thread'],
  ['start: the table is made', tableMs, 'ms of the main thread'],
  ['one project deploys', median(deploys), `ms of the main thread, median of ${DEPLOYS}`],
];
const lines = formatTable(
  ['', ''],
  rows.map(([name, value]) => [name, value]),
)
  .split('\n')
  .slice(1);
process.stdout.write(`${PROJECTS} projects, each with three deployments\n`);
process.stdout.write(`${lines.map((line, at) => `${line} ${rows[at]![2]}`).join('\n')}\n`);
process.stdout.write(`  ${digits(median(deploys))} ms is what requests wait when somebody else deploys\n`);

function nameOf(project: number): string {
  return `project-${project}`;
}

/** As publishing does: a whole file takes the place of the other. */
function writeRecord(project: number, vars: number): void {
  const deployments = Object.fromEntries(
    [0, 1, 2].map((at) => {
      const id = `d${String(project * 3 + at).padStart(12, '0')}`;
      const branch = at === 2 ? 'talk' : 'main';
      return [id, { id, artifact: 'a'.repeat(64), branch, createdAt: '2026-11-21T00:00:00.000Z' }];
    }),
  );
  const [, main, talk] = Object.keys(deployments);
  const record: RouteRecord = {
    version: 1,
    project: nameOf(project),
    plan: 'free',
    vars: { N: String(vars) },
    domains: [`${nameOf(project)}.example.com`],
    production: main!,
    branches: { main: main!, talk: talk! },
    deployments,
  };
  const file = path.join(folder, 'routes', `${record.project}.json`);
  writeFileSync(`${file}.tmp`, JSON.stringify(record));
  renameSync(`${file}.tmp`, file);
}
