// `npm run bench machines`: the cost of several machines, run on the cores of this one: requests of one, two and three
// machines; a database call to another machine; replication and DB_REPLICATION=confirm; how long a promotion takes
// until each machine serves it. BENCH_PARTS=requests,databases,replication,promotions selects parts.
import { setTimeout as delay } from 'node:timers/promises';
import { EDGE_HEADER } from '../core/process/edge-proxy.ts';
import { query, startDatabases, type TestDatabases } from '../test/setup/databases.ts';
import { startFleet, type Fleet, type FleetMachine } from '../test/setup/fleet.ts';
import { createTestDatabase } from '../test/setup/postgres.ts';
import { startTestPostgres } from '../test/setup/postgres-server.ts';
import { startReplicated } from '../test/setup/replicas.ts';
import { startS3Server } from '../test/setup/s3-server.ts';
import { send } from '../test/setup/send.ts';
import { cpuMs, loadInTurn, missingWrk, rounds, runWrk, seconds, type Reading, type Target } from './load.ts';
import { digits, formatTable, median, percentile } from './statistics.ts';

const CONNECTIONS = 48;
const PROMOTIONS = 10;
/** After so long everything is stored, and figures say so. */
const STORED_MS = 2500;
/** Clients that write at once, with the writes of a round. */
const WRITERS: readonly (readonly [clients: number, writes: number])[] = [
  [1, 200],
  [16, 3200],
];
const parts = process.env['BENCH_PARTS']?.split(',') ?? ['requests', 'databases', 'replication', 'promotions'];

const worker = (version: string): string => `
export default {
  async fetch(request, { DB }) {
    const { pathname } = new URL(request.url);
    if (pathname === '/prepare') await DB.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO t (a) VALUES ('x')");
    if (pathname === '/select') return Response.json(await DB.prepare('SELECT a FROM t WHERE id = ?').bind(1).first());
    if (pathname === '/insert') return Response.json(await DB.prepare('INSERT INTO t (a) VALUES (?)').bind('x').run());
    return new Response('${version}');
  },
};`;

/** Machines under load together. */
interface Together extends Target {
  readonly machines: readonly FleetMachine[];
  /** Whose CPU counts. */
  readonly counted: readonly FleetMachine[];
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const pidOf = (machine: FleetMachine): number => machine.pids()[0]!;
const hostOf = (fleet: Fleet): string => `shop.${fleet.domains[0]!}`;
const headersOf = (machine: FleetMachine): Record<string, string> => ({
  [EDGE_HEADER]: machine.environment['EDGE_TOKEN']!,
});

async function open(fleet: Fleet, machine: FleetMachine, path: string): Promise<string> {
  const { status, text } = await send(machine.port, hostOf(fleet), path, { headers: headersOf(machine) });
  if (status !== 200) throw new Error(`${machine.name} answered ${path} with ${status}: ${text}`);
  return text;
}

function together(fleet: Fleet, name: string, path: string, given: Pick<Together, 'machines' | 'counted'>): Together {
  const [first] = given.machines as [FleetMachine];
  const url = `http://127.0.0.1:${first.port}${path}`;
  return { ...given, name, pid: pidOf(first), url, host: hostOf(fleet), headers: headersOf(first) };
}

/** One round: each machine has its share of the connections. */
async function measure(target: Together): Promise<Reading> {
  const { machines, counted } = target;
  const used = (): number => counted.reduce((sum, machine) => sum + cpuMs(pidOf(machine)), 0);
  const before = used();
  const readings = await Promise.all(
    machines.map((machine) => {
      const url = new URL(target.url);
      url.port = String(machine.port);
      return runWrk({ ...target, pid: pidOf(machine), url: url.href }, { connections: CONNECTIONS / machines.length });
    }),
  );
  const perSecond = readings.reduce((sum, reading) => sum + reading.perSecond, 0);
  const worst = (key: 'p50Ms' | 'p99Ms'): number => Math.max(...readings.map((reading) => reading[key]));
  return {
    ...readings[0]!,
    perSecond,
    cpuUs: ((used() - before) * 1000) / (perSecond * seconds),
    p50Ms: worst('p50Ms'),
    p99Ms: worst('p99Ms'),
    bad: readings.reduce((sum, { bad }) => sum + bad, 0),
  };
}

async function compare(title: string, targets: readonly Together[]): Promise<void> {
  const readings = await loadInTurn(targets, measure);
  const rows = [...readings].map(([name, { cpuUs, perSecond, p50Ms, p99Ms, bad }]) => [
    name,
    cpuUs,
    perSecond,
    p50Ms,
    p99Ms,
    bad,
  ]);
  print(`\n${formatTable([title, 'CPU us', 'requests/s', 'p50 ms', 'p99 ms', 'non-2xx'], rows)}`);
  const [first, ...others] = targets.map(({ name }) => name) as [string];
  const peer = readings.get(first)!;
  for (const name of others) print(`  CPU: ${name} / ${first} = ${digits(readings.get(name)!.cpuUs / peer.cpuUs)}`);
}

async function compareMachines(): Promise<void> {
  const fleet = await startFleet({});
  try {
    await fleet.deploy('shop', files('one'));
    if (parts.includes('requests')) await compareRequests(fleet);
    if (parts.includes('databases')) await compareDatabases(fleet);
    if (parts.includes('promotions')) await measurePromotions(fleet);
  } finally {
    await fleet.close();
  }
}

async function compareRequests(fleet: Fleet): Promise<void> {
  const { machines } = fleet;
  const targets = [1, 2, 3].map((count) => {
    const some = machines.slice(0, count);
    return together(fleet, count === 1 ? '1 machine' : `${count} machines`, '/', { machines: some, counted: some });
  });
  await compare('a request', targets);
}

async function compareDatabases(fleet: Fleet): Promise<void> {
  const [own, other] = fleet.machines as [FleetMachine, FleetMachine];
  await open(fleet, own, '/prepare');
  for (const operation of ['select', 'insert'])
    await compare(
      operation,
      [own, other].map((machine) =>
        together(fleet, machine === own ? 'own machine' : 'another machine', `/${operation}`, {
          machines: [machine],
          counted: [own, other],
        }),
      ),
    );
}

/** Promotes two deployments by turns. */
async function measurePromotions(fleet: Fleet): Promise<void> {
  await fleet.deploy('shop', files('two'));
  const deployments = await fleet.sql.all<{ id: string }>(
    `SELECT d.id FROM control.deployment d JOIN control.project p ON p.id = d.project_id
      WHERE p.name = 'shop' ORDER BY d.created_at DESC LIMIT 2`,
  );
  const times = new Map<string, number[]>();
  for (let count = 0; count < PROMOTIONS; count++) {
    const [text, id] = count % 2 === 0 ? ['one', deployments[1]!.id] : ['two', deployments[0]!.id];
    const began = performance.now();
    const note = (name: string): void => void times.set(name, [...(times.get(name) ?? []), performance.now() - began]);
    const promoted = fleet.api.call('POST', `/deployments/${id}/promote`, {}).then(() => note('confirmed'));
    const served = fleet.machines.map(async (machine) => {
      while ((await open(fleet, machine, '/')) !== text) await delay(2);
      note(machine.name);
    });
    await Promise.all(served).then(() => note('all machines'));
    await promoted;
  }
  const rows = [...times].map(([name, all]) => [name, median(all), Math.min(...all), Math.max(...all)]);
  print(`\n${formatTable(['ms from the request of a promotion', 'median', 'least', 'most'], rows.toSorted(byName))}`);
}

const byName = ([one]: readonly unknown[], [other]: readonly unknown[]): number =>
  String(one) < String(other) ? -1 : 1;

const files = (version: string): Record<string, string> => ({
  'platform.yaml': 'name: shop\nkind: worker\ndb:\n  DB: main\n',
  'src/index.ts': worker(version),
});

/** Bytes that do not compress to nothing. */
const text = (): string => Array.from({ length: 3 }, () => crypto.randomUUID()).join('');

interface Writes {
  readonly shardUs: number;
  readonly replicatorUs: number;
  readonly p50Ms: number;
  readonly perSecond: number;
}

async function write({ client, service }: TestDatabases, clients: number, writes: number): Promise<Writes> {
  const used = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + cpuMs(pid), 0);
  const replicators = service.replicatorPids();
  const before = [used(service.pids()), used(replicators)] as const;
  const tookMs: number[] = [];
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (let left = writes / clients; left > 0; left--) {
        const began = performance.now();
        await query(client, 'INSERT INTO t (a) VALUES (?)', [text()]);
        tookMs.push(performance.now() - began);
      }
    }),
  );
  const wallMs = performance.now() - startedAt;
  if (replicators.length > 0) await delay(STORED_MS);
  return {
    shardUs: ((used(service.pids()) - before[0]) * 1000) / writes,
    replicatorUs: ((used(replicators) - before[1]) * 1000) / writes,
    p50Ms: percentile(tookMs, 0.5),
    perSecond: (writes * 1000) / wallMs,
  };
}

async function compareReplication(): Promise<void> {
  const s3 = await startS3Server();
  // A service stores until another one of its installation begins to.
  const [one, other] = [await createTestDatabase(), await createTestDatabase()];
  const services: readonly (readonly [string, TestDatabases])[] = [
    ['not replicated', await startDatabases()],
    ['replicated', await startReplicated(s3, one.url, 'plain', { intervalMs: 500 })],
    ['confirm', await startReplicated(s3, other.url, 'confirm', { intervalMs: 500, confirms: true })],
  ];
  const bytesOf = (databases: TestDatabases): number => databases.service.replica()?.bytes ?? 0;
  for (const [, { client }] of services) await query(client, 'CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)');
  for (const [clients, writes] of WRITERS) {
    const all = new Map<string, Writes[]>(services.map(([name]) => [name, []]));
    const before = services.map(([, databases]) => bytesOf(databases));
    for (let round = 0; round <= rounds; round++)
      for (const [name, databases] of services) {
        const seen = await write(databases, clients, writes);
        if (round > 0) all.get(name)!.push(seen);
      }
    const rows = services.map(([name, databases], index) => {
      const middle = (key: keyof Writes): number => median(all.get(name)!.map((seen) => seen[key]));
      const bytes = (bytesOf(databases) - before[index]!) / (writes * (rounds + 1));
      return [name, middle('shardUs'), middle('replicatorUs'), bytes, middle('p50Ms'), middle('perSecond')];
    });
    const head = ['CPU us of the shard', 'of the replicator', 'bytes stored', 'p50 ms', 'writes/s'];
    print(`\n${formatTable([`a write, ${clients} at once`, ...head], rows)}`);
  }
  for (const [, databases] of services) await databases.close();
  await Promise.all([s3.close(), one.close(), other.close()]);
}

const missing = missingWrk();
if (missing !== null) throw new Error(missing);
print(`Medians of ${rounds} rounds of ${seconds} s, in turn; all machines are processes on the cores of this one.`);
const postgres = await startTestPostgres();
try {
  if (parts.includes('replication')) await compareReplication();
  if (parts.some((part) => part !== 'replication')) await compareMachines();
} finally {
  await postgres.stop();
}
process.exit();
