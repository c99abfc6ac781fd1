// Drives wrk at several servers in turn (A B C A B C ...) and reads what each spends: CPU time of its own process per answered
// request, latency, and answers that are not 2xx or 3xx. In turn, so that whatever else the machine does hits all of them.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { median } from './statistics.ts';

/** A server under load. */
export interface Target {
  readonly name: string;
  readonly pid: number;
  readonly url: string;
  readonly host: string;
}

/** What one server showed in one round. */
export interface Reading {
  readonly cpuUs: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Neither 2xx nor 3xx, or no answer at all. */ readonly bad: number;
}

/** How long and how often. The environment shortens a run while something is being tried out. */
export const rounds = Number(process.env['BENCH_ROUNDS'] ?? 5);
export const seconds = Number(process.env['BENCH_SECONDS'] ?? 2);

/** Null when wrk is there, else how to get it. */
export function missingWrk(): string | null {
  const found = spawnSync('wrk', ['-v']).error === undefined;
  return found ? null : 'wrk is missing: install it with `apt-get install wrk`';
}

/** The medians of all rounds by server; a round that warms them up is not counted. */
export async function loadInTurn(targets: readonly Target[], connections: number): Promise<Map<string, Reading>> {
  const readings = new Map<string, Reading[]>(targets.map(({ name }) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const target of targets) {
      const reading = await load(target, connections);
      if (round > 0) readings.get(target.name)!.push(reading);
    }
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
  };
}

async function load(target: Target, connections: number): Promise<Reading> {
  const before = cpuMs(target.pid);
  const words = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '-H', `Host: ${target.host}`, target.url];
  const child = spawn('wrk', words, { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  await new Promise((resolve, reject) => {
    child.on('close', resolve);
    child.on('error', reject);
  });
  const { requests, ...reading } = parseWrk(printed);
  return { ...reading, cpuUs: ((cpuMs(target.pid) - before) * 1000) / requests };
}

/** What wrk printed with `--latency`. @throws {Error} with its words when it holds no result. */
export function parseWrk(printed: string): Omit<Reading, 'cpuUs'> & { readonly requests: number } {
  const requests = Number(/(\d+) requests in/.exec(printed)?.[1]);
  if (!(requests > 0)) throw new Error(`wrk reports no requests:\n${printed}`);
  const errors = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(printed)?.slice(1) ?? [];
  return {
    requests,
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(printed)?.[1]),
    p50Ms: toMs(/50%\s+(\S+)/.exec(printed)?.[1]),
    p99Ms: toMs(/99%\s+(\S+)/.exec(printed)?.[1]),
    bad: [/Non-2xx or 3xx responses: (\d+)/.exec(printed)?.[1] ?? '0', ...errors].reduce((sum, count) => sum + Number(count), 0),
  };
}

const msOf: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000, m: 60_000 };

function toMs(time: string | undefined): number {
  const [, value, unit] = /^([\d.]+)(us|ms|s|m)$/.exec(time ?? '') ?? [];
  return value === undefined ? Number.NaN : Number(value) * msOf[unit!]!;
}

/** Linux counts a process's CPU time in ticks of 10 ms: over a round of seconds the error is below one percent. */
const tickMs = 10;

/** User and system time of a process, all its threads, in ms. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name, in parentheses, may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** Resident memory of a process in bytes. */
export function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}
