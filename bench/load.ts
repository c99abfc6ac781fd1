// Runs wrk against several servers in turn (A B C A B C ...), so that other work of the machine affects all of them.
// Measures CPU time of all processes of a server per response, latency, and responses other than 2xx and 3xx.
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { processorTicks } from '../test/setup/processor-ticks.ts';
import { temporaryFolder } from './cleanup.ts';
import { median } from './statistics.ts';

/** A server under load. */
export interface Target {
  readonly name: string;
  readonly pid: number;
  readonly url: string;
  readonly host: string;
  /** Sent with each request beside `host`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How often its isolates were entered so far; only of ours. */
  readonly entries?: () => Promise<number>;
}

/** What one server showed in one round. */
export interface Reading {
  /** Per request. */
  readonly cpuUs: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Neither 2xx nor 3xx, or no answer at all. */
  readonly bad: number;
  /** Received, headers included. */
  readonly mbPerCpuSecond: number;
  /** Requests that entered an isolate together, on average; NaN where nothing is entered. */
  readonly joined: number;
}

/** What wrk sends. */
export interface Load {
  readonly connections: number;
  /** Path and query; without it the target's own. */
  readonly path?: string;
  /** A POST with a body of this size. */
  readonly postBytes?: number;
  /** A script that makes the requests. */
  readonly script?: string;
}

/** How long and how often. The environment shortens a run while something is being tried out. */
export const rounds = Number(process.env['BENCH_ROUNDS'] ?? 5);
export const seconds = Number(process.env['BENCH_SECONDS'] ?? 2);

/** Null when wrk is there, else how to get it. */
export function missingWrk(): string | null {
  const found = spawnSync('wrk', ['-v']).error === undefined;
  return found ? null : 'wrk is missing: install it with `apt-get install wrk`';
}

/** How long some measurements of {@link loadInTurn} take, for the line that says so before they begin. */
export function plannedSeconds(servers: number, tables: number): number {
  return servers * tables * (rounds + 1) * seconds;
}

/**
 * A round counts where the host of a virtual machine took no more of it: what it takes is in the CPU time of whoever it
 * was taken from.
 */
const TAKEN_SHARE_MAX = 0.03;
/** Times that one round is measured at most, and all that are measured again. */
const [roundTriesMax, againMax] = [8, 100];

/**
 * The medians of all rounds by server; a round that warms them up is not counted, and one that the machine's host
 * disturbed is measured again. How often that was is printed.
 *
 * @param load what wrk sends (a number: so many connections), or any other way to measure one round of one server.
 */
export async function loadInTurn<T extends Target>(
  targets: readonly T[],
  load: number | Load | ((target: T) => Promise<Reading>),
): Promise<Map<string, Reading>> {
  const wanted = typeof load === 'number' ? { connections: load } : load;
  const measure = typeof wanted === 'function' ? wanted : (target: T): Promise<Reading> => runWrk(target, wanted);
  const readings = new Map<string, Reading[]>(targets.map(({ name }) => [name, []]));
  let [again, disturbed] = [0, 0];
  const measureUndisturbed = async (target: T): Promise<Reading> => {
    for (let tries = 1; ; tries++) {
      const before = processorTicks();
      const reading = await measure(target);
      const after = processorTicks();
      if (after.taken - before.taken <= TAKEN_SHARE_MAX * (after.all - before.all)) return reading;
      if (tries === roundTriesMax || again === againMax) {
        disturbed++;
        return reading;
      }
      again++;
    }
  };
  for (let round = 0; round <= rounds; round++) {
    for (const target of targets) {
      if (round === 0) await measure(target);
      else readings.get(target.name)!.push(await measureUndisturbed(target));
    }
  }
  if (again + disturbed > 0) {
    const count = `${again} rounds were measured again and ${disturbed} of ${rounds * targets.length} count although they were disturbed`;
    process.stdout.write(
      `\nThe machine's host took more than ${TAKEN_SHARE_MAX * 100}% of it now and then: ${count}.\n`,
    );
  }
  return new Map([...readings].map(([name, all]) => [name, summary(all)]));
}

function summary(all: readonly Reading[]): Reading {
  const middle = (key: keyof Reading): number => median(all.map((reading) => reading[key]));
  return {
    cpuUs: middle('cpuUs'),
    perSecond: middle('perSecond'),
    p50Ms: middle('p50Ms'),
    p99Ms: middle('p99Ms'),
    bad: all.reduce((sum, { bad }) => sum + bad, 0),
    mbPerCpuSecond: middle('mbPerCpuSecond'),
    joined: middle('joined'),
  };
}

/** One round. */
export async function runWrk(target: Target, load: Load): Promise<Reading> {
  const url = load.path === undefined ? target.url : new URL(load.path, target.url).href;
  const words = [
    '-t1',
    `-c${load.connections}`,
    `-d${seconds}s`,
    '--timeout',
    '10s',
    '--latency',
    '-H',
    `Host: ${target.host}`,
    ...Object.entries(target.headers ?? {}).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
  ];
  const folder = load.postBytes === undefined ? null : temporaryFolder('platform-bench-wrk-');
  if (load.script !== undefined) words.push('-s', load.script);
  if (folder !== null) {
    const script = path.join(folder, 'post.lua');
    writeFileSync(
      script,
      `wrk.method = "POST"\nwrk.body = string.rep("x", ${load.postBytes})\nwrk.headers["Content-Type"] = "text/plain"\n`,
    );
    words.push('-s', script);
  }
  try {
    const [before, entriesBefore] = [cpuMs(target.pid), await target.entries?.()];
    const child = spawn('wrk', [...words, url], { stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    await new Promise((resolve, reject) => {
      child.on('close', resolve);
      child.on('error', reject);
    });
    const usedMs = cpuMs(target.pid) - before;
    const entries = ((await target.entries?.()) ?? Number.NaN) - (entriesBefore ?? 0);
    const { requests, readBytes, ...reading } = parseWrk(printed);
    return {
      ...reading,
      cpuUs: (usedMs * 1000) / requests,
      mbPerCpuSecond: readBytes / 1000 / usedMs,
      joined: requests / entries,
    };
  } finally {
    if (folder !== null) rmSync(folder, { recursive: true });
  }
}

/** What wrk printed with `--latency`. @throws {Error} with its words when it holds no result. */
export function parseWrk(
  printed: string,
): Pick<Reading, 'perSecond' | 'p50Ms' | 'p99Ms' | 'bad'> & { readonly requests: number; readonly readBytes: number } {
  const [, requests, read, unit] = /(\d+) requests in [^,]*, ([\d.]+)([KMGT]?B) read/.exec(printed) ?? [];
  if (!(Number(requests) > 0)) throw new Error(`wrk reports no requests:\n${printed}`);
  const errors = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(printed)?.slice(1) ?? [];
  return {
    requests: Number(requests),
    readBytes: Number(read) * 1024 ** ['B', 'KB', 'MB', 'GB', 'TB'].indexOf(unit!),
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(printed)?.[1]),
    p50Ms: toMs(/^\s+50%\s+(\S+)/m.exec(printed)?.[1]),
    p99Ms: toMs(/^\s+99%\s+(\S+)/m.exec(printed)?.[1]),
    bad: [/Non-2xx or 3xx responses: (\d+)/.exec(printed)?.[1] ?? '0', ...errors].reduce(
      (sum, count) => sum + Number(count),
      0,
    ),
  };
}

const msOf: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000, m: 60_000 };

function toMs(time: string | undefined): number {
  const [, value, unit] = /^([\d.]+)(us|ms|s|m)$/.exec(time ?? '') ?? [];
  return value === undefined ? Number.NaN : Number(value) * msOf[unit!]!;
}

/** Linux counts a process's CPU time in ticks of 10 ms: over a round of seconds the error is below one percent. */
const TICK_MS = 10;

/** User and system time in ms of a process and of all below it, those that have ended included. */
export function cpuMs(pid: number): number {
  let total = 0;
  for (const member of processTree(pid)) {
    const stat = readOr(`/proc/${member}/stat`);
    // The name, in parentheses, may hold anything; then come utime, stime and those of children that were waited for.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (stat !== '') total += fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) * TICK_MS;
  }
  return total;
}

/** Resident memory in bytes of a process and of all below it. */
export function residentBytes(pid: number): number {
  let total = 0;
  for (const member of processTree(pid))
    total += Number(/^VmRSS:\s+(\d+) kB$/m.exec(readOr(`/proc/${member}/status`))?.[1] ?? 0) * 1024;
  return total;
}

/** A process and all that descend from it and live. */
export function processTree(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? readOr(`/proc/${name}/stat`) : '';
    if (stat !== '') parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
  }
  const found = [pid];
  for (const at of found) for (const [child, parent] of parents) if (parent === at) found.push(child);
  return found;
}

/** The file of a process, empty when the process is gone by now. */
function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
