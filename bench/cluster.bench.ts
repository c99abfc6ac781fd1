// `npm run bench cluster`: simulates ten and a hundred machines from measurements of one machine: how much load they
// take, which resource is exhausted first, and what a rolling deployment and a lost machine cost. BENCH_REQUESTS=5000
// shortens the run. BENCH_REQUEST_US, BENCH_FORWARD_US, BENCH_COLD_US, BENCH_WORKER_MB and BENCH_ENGINE_MB replace the
// measurements.
import { createCluster, type Cluster, type Costs, type Usage } from './cluster-model.ts';
import { digits, formatTable } from './statistics.ts';

const value = (name: string, otherwise: number): number => Number(process.env[name] ?? otherwise);

/** A worker with 1 ms of work of its own; the rest as hello, cold-start, scaling, density and idle-memory print. */
const costs: Costs = {
  requestUs: value('BENCH_REQUEST_US', 1024),
  forwardUs: value('BENCH_FORWARD_US', 20),
  coldUs: value('BENCH_COLD_US', 15_000),
  workerMb: value('BENCH_WORKER_MB', 3),
  engineMb: value('BENCH_ENGINE_MB', 100),
};
/** For each machine, half of them before anything is counted. */
const requests = value('BENCH_REQUESTS', 20_000);
const ENGINES = 2;
const PROJECTS_PER_MACHINE = 1000;
/** Requests a second of one machine, tried in turn until a resource is full. */
const LOADS = [100, 300, 600, 900, 1200, 1500, 1800];
/** Of its processors a machine should use no more: the rest is for peaks. */
const PROCESSORS_MAX = 0.7;
/** The default bounds of an engine. */
const BOUNDS = { isolatesMax: 1000, memoryMbMax: 4096 };

const BALANCING = [0, 1, 2, 4];
const EVENTS_LOAD = 300;
const ROLLING_S = 600;

/** Repeatable: the same table every time. */
function seeded(): () => number {
  let state = 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

function clusterOf(machines: number, perMachine: number, machinesPerHost: number): Cluster {
  return {
    machines,
    engines: ENGINES,
    projects: machines * PROJECTS_PER_MACHINE,
    requestsPerSecond: machines * perMachine,
    deploysPerSecond: 0,
    machinesPerHost,
    ...BOUNDS,
  };
}

/** Warmed up by half of the requests, counted over the others. */
function settled(cluster: Cluster): ReturnType<typeof createCluster> {
  const model = createCluster(cluster, costs, seeded());
  const half = (requests * cluster.machines) / 2;
  model.run(half);
  model.reset();
  model.run(half);
  return model;
}

function nameOf({ machines, machinesPerHost }: Cluster): string {
  return `${machines}, ${machinesPerHost === 0 ? 'any' : `host on ${machinesPerHost}`}`;
}

function firstFull({ processors, busiest, isFull }: Usage): string {
  if (processors <= PROCESSORS_MAX && busiest > PROCESSORS_MAX) return 'processors of one machine';
  if (processors > PROCESSORS_MAX) return isFull ? 'processors, for starts' : 'processors';
  return isFull ? 'live workers' : '-';
}

process.stdout.write(
  `Simulated, ${requests} requests for each machine: machines of ${ENGINES} processors, ${PROJECTS_PER_MACHINE} projects for each, busy by Zipf's law;\n` +
    `us of CPU: a request ${costs.requestUs}, forwarding ${costs.forwardUs}, a cold start ${costs.coldUs}; MB: a live worker ${costs.workerMb}, an engine ${costs.engineMb}\n\n`,
);
const rows: (string | number)[][] = [];
for (const machines of [10, 100])
  for (const machinesPerHost of BALANCING)
    for (const load of LOADS) {
      const cluster = clusterOf(machines, load, machinesPerHost);
      const usage = settled(cluster).usage();
      rows.push([
        nameOf(cluster),
        load,
        `${digits(usage.processors * 100)}%`,
        `${digits(usage.busiest * 100)}%`,
        usage.memoryMb,
        Math.round(usage.live),
        `${digits(usage.cold * 100)}%`,
        firstFull(usage),
      ]);
      if (usage.busiest > PROCESSORS_MAX) break;
    }
const head = ['machines, balancing', 'requests/s each', 'processors', 'busiest', 'MB each', 'live/engine', 'cold'];
process.stdout.write(`${formatTable([...head, 'full first'], rows)}\n\n`);

const events: (string | number)[][] = [];
for (const machines of [10, 100])
  for (const machinesPerHost of BALANCING) {
    const calm = clusterOf(machines, EVENTS_LOAD, machinesPerHost);
    const model = settled(calm);
    const row: (string | number)[] = [nameOf(calm)];
    const say = ({ processors, cold }: Usage): void => {
      row.push(`${digits(processors * 100)}%`, `${digits(cold * 100)}%`);
    };
    say(model.usage());
    model.lose(0);
    model.reset();
    // The second after it.
    model.run(calm.requestsPerSecond);
    say(model.usage());
    say(settled({ ...calm, deploysPerSecond: calm.projects / ROLLING_S }).usage());
    events.push(row);
  }
process.stdout.write(
  `${formatTable([`at ${EVENTS_LOAD} requests/s each`, 'processors', 'cold', 'a machine lost', 'cold', 'deploys', 'cold'], events)}\n` +
    `  a machine lost: the second after it; deploys: each project once in ${ROLLING_S / 60} minutes\n`,
);
