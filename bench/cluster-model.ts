// Simulates requests over many machines: which machine gets a request, which workers are live there, which start cold,
// and the costs. Homes are computed by the engine's own code; the caller gives times and memory measured by other
// scenarios. No I/O.
import { homes } from '../runtime/engine/cluster/homes.ts';

/** What was measured on one machine; microseconds are CPU time. */
export interface Costs {
  /** A request to a live worker, with what the worker itself does. */
  readonly requestUs: number;
  /** What a request that another engine of the machine forwards costs more. */
  readonly forwardUs: number;
  /** Starting a worker for its first request. */
  readonly coldUs: number;
  /** A live worker, and an engine without any. */
  readonly workerMb: number;
  readonly engineMb: number;
}

/** What is simulated. */
export interface Cluster {
  readonly machines: number;
  /** Processors of a machine: as many engines. */
  readonly engines: number;
  readonly projects: number;
  /** Of all machines together. */
  readonly requestsPerSecond: number;
  /** Deployments that replace a live one, of all projects together. */
  readonly deploysPerSecond: number;
  /** Machines that take turns for one host, by its name; 0: all of them. */
  readonly machinesPerHost: number;
  /** Live workers in one engine (`WORKER_ISOLATES_MAX`), and their memory (`ENGINE_MEMORY_MB`). */
  readonly isolatesMax: number;
  readonly memoryMbMax: number;
}

/** What came of the second half of the requests. */
export interface Usage {
  /** Of all processors, and of those of the busiest machine; above 1 there are not enough. */
  readonly processors: number;
  readonly busiest: number;
  /** Of a machine. */
  readonly memoryMb: number;
  /** Live workers in an engine. */
  readonly live: number;
  /** Whether engines give workers up for others. */
  readonly isFull: boolean;
  /** Shares of requests. */
  readonly cold: number;
  readonly forwarded: number;
}

/** An engine forwards at most this many requests of a deployment a minute, then serves it itself. */
const FORWARDS_MAX = 200;
const WINDOW_S = 60;

/** One engine: live workers, the one used longest ago first; and what it forwarded in this minute. */
class Engine {
  readonly live = new Map<number, number>();
  readonly forwarded = new Map<number, { window: number; count: number }>();
}

/** One run over a cluster. Requests to projects are distributed by Zipf's law: the n-th gets a share of 1/n. */
export function createCluster(cluster: Cluster, costs: Costs, random: () => number) {
  const { machines, engines, projects, machinesPerHost } = cluster;
  const all = Array.from({ length: machines * engines }, () => new Engine());
  const alive = Array.from({ length: machines }, (_, machine) => machine);
  const capacity = Math.min(cluster.isolatesMax, Math.floor((cluster.memoryMbMax - costs.engineMb) / costs.workerMb));
  const places = Array.from({ length: engines }, (_, place) => place);
  const cumulated = cumulate(projects);
  /** Of each project: deployments so far, and its home engine and machines, once they are asked for. */
  const versions = new Uint32Array(projects);
  const homeOf = new Int16Array(projects).fill(-1);
  const machinesOf = new Map<number, readonly number[]>();
  let seconds = 0;
  let deploysDue = 0;
  let isFull = false;
  let counted = { requests: 0, cold: 0, forwarded: 0 };
  /** CPU time of each machine. */
  const usedUs = new Float64Array(machines);

  function machineFor(project: number): number {
    if (machinesPerHost === 0) return alive[Math.floor(random() * alive.length)]!;
    let own = machinesOf.get(project);
    if (own === undefined) machinesOf.set(project, (own = homes(`p${project}`, alive, machinesPerHost)));
    return own[Math.floor(random() * own.length)]!;
  }

  /** Serves it in this engine; whether it had to start. */
  function serve(engine: Engine, project: number): boolean {
    const version = engine.live.get(project);
    if (version !== undefined) engine.live.delete(project);
    engine.live.set(project, versions[project]!);
    if (engine.live.size > capacity) {
      isFull = true;
      engine.live.delete(engine.live.keys().next().value!);
    }
    return version !== versions[project];
  }

  function forwards(engine: Engine, project: number): boolean {
    const window = Math.floor(seconds / WINDOW_S);
    let entry = engine.forwarded.get(project);
    if (entry === undefined || entry.window !== window) engine.forwarded.set(project, (entry = { window, count: 0 }));
    return ++entry.count <= FORWARDS_MAX;
  }

  function request(): void {
    const project = pick(cumulated, random());
    const machine = machineFor(project);
    const place = Math.floor(random() * engines);
    if (homeOf[project] === -1) homeOf[project] = homes(`p${project}`, places, 1)[0]!;
    const own = all[machine * engines + place]!;
    const isHome = homeOf[project] === place;
    const isForwarded = !isHome && !own.live.has(project) && forwards(own, project);
    const server = isForwarded ? all[machine * engines + homeOf[project]!]! : own;
    const isCold = serve(server, project);
    counted.requests++;
    if (isForwarded) counted.forwarded++;
    if (isCold) counted.cold++;
    usedUs[machine]! += costs.requestUs + (isForwarded ? costs.forwardUs : 0) + (isCold ? costs.coldUs : 0);
    seconds += 1 / cluster.requestsPerSecond;
    for (deploysDue += cluster.deploysPerSecond / cluster.requestsPerSecond; deploysDue >= 1; deploysDue--)
      versions[Math.floor(random() * projects)]!++;
  }

  return {
    run(requests: number): void {
      for (let at = 0; at < requests; at++) request();
    },
    /** Forgets what was counted, and keeps what is live. */
    reset(): void {
      counted = { requests: 0, cold: 0, forwarded: 0 };
      usedUs.fill(0);
      isFull = false;
    },
    /** A machine is gone with what was live on it; hosts that had it have another one. */
    lose(machine: number): void {
      alive.splice(alive.indexOf(machine), 1);
      machinesOf.clear();
    },
    usage(): Usage {
      const { requests, cold, forwarded } = counted;
      // Of what one processor had in the time of these requests.
      const part = (us: number): number => (us / 1e6) * (cluster.requestsPerSecond / requests);
      const sum = usedUs.reduce((total, us) => total + us, 0);
      const live = all.reduce((sum, engine) => sum + engine.live.size, 0) / all.length;
      return {
        processors: part(sum) / (alive.length * engines),
        busiest: part(Math.max(...usedUs)) / engines,
        memoryMb: engines * (costs.engineMb + live * costs.workerMb),
        live,
        isFull,
        cold: cold / requests,
        forwarded: forwarded / requests,
      };
    },
  };
}

function cumulate(projects: number): Float64Array {
  const sums = new Float64Array(projects);
  let sum = 0;
  for (let at = 0; at < projects; at++) sums[at] = sum += 1 / (at + 1);
  for (let at = 0; at < projects; at++) sums[at]! /= sum;
  return sums;
}

/** The first whose sum is not below. */
function pick(sums: Float64Array, share: number): number {
  let [low, high] = [0, sums.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sums[middle]! < share) low = middle + 1;
    else high = middle;
  }
  return low;
}
