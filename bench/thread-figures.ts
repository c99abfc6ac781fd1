// Reads the CPU time, waits and preemptions of each thread of a process and its descendants from the system. Linux
// only.
import { readdirSync, readFileSync } from 'node:fs';
import { processTree } from './load.ts';

/** What one thread has used so far, or between two readings. */
export interface ThreadFigures {
  readonly process: string;
  readonly thread: string;
  readonly cpuNs: number;
  /** Of the CPU time, by ticks: exact only over many of them. */
  readonly userTicks: number;
  readonly systemTicks: number;
  /** It had to wait for something: it was woken as often. */
  readonly waits: number;
  /** It was taken off its core. */
  readonly preemptions: number;
}

/**
 * Threads that isolated-vm and our native half start have the name of who started them: those of isolates, and the
 * watch of their CPU.
 */
const otherNames: Readonly<Record<string, string>> = { MainThread: 'isolates', node: 'isolates' };

/** All threads by number, and the main thread of each process as `main`. @param nameOf a process, by its number. */
export function readThreads(pid: number, nameOf: (pid: number) => string): Map<number, ThreadFigures> {
  const threads = new Map<number, ThreadFigures>();
  for (const member of processTree(pid)) {
    for (const thread of namesIn(`/proc/${member}/task`)) {
      const read = (file: string): string => readOr(`/proc/${member}/task/${thread}/${file}`);
      const figures = parseThread(read('stat'), read('status'), read('schedstat'));
      if (figures === null) continue;
      const name = shownName(member, Number(thread), figures.name);
      threads.set(Number(thread), { process: nameOf(member), thread: name, ...figures.counts });
    }
  }
  return threads;
}

/** What a thread of a process is called here. @throws {Error} where there is none. */
export function threadName(pid: number, thread: number): string {
  return shownName(pid, thread, readFileSync(`/proc/${pid}/task/${thread}/comm`, 'utf8').trim());
}

function shownName(pid: number, thread: number, name: string): string {
  return thread === pid ? 'main' : (otherNames[name] ?? name);
}

/** The texts of the three files of a thread in /proc; null where one is not there any more. */
export function parseThread(
  stat: string,
  status: string,
  schedstat: string,
): { readonly name: string; readonly counts: Omit<ThreadFigures, 'process' | 'thread'> } | null {
  if (stat === '' || status === '' || schedstat === '') return null;
  const [opens, closes] = [stat.indexOf('('), stat.lastIndexOf(')')];
  const fields = stat.slice(closes + 2).split(' ');
  const count = (key: string): number => Number(new RegExp(`^${key}:\\s+(\\d+)$`, 'm').exec(status)?.[1] ?? 0);
  return {
    name: stat.slice(opens + 1, closes),
    counts: {
      cpuNs: Number(schedstat.split(' ')[0]),
      userTicks: Number(fields[11]),
      systemTicks: Number(fields[12]),
      waits: count('voluntary_ctxt_switches'),
      preemptions: count('nonvoluntary_ctxt_switches'),
    },
  };
}

/** What threads of the same process and name used between two readings, the busiest first. */
export function usedBetween(
  before: ReadonlyMap<number, ThreadFigures>,
  after: ReadonlyMap<number, ThreadFigures>,
): ThreadFigures[] {
  const sums = new Map<string, ThreadFigures>();
  for (const [id, now] of after) {
    const was = before.get(id);
    const key = `${now.process} ${now.thread}`;
    const sum = sums.get(key);
    const grown = (figure: 'cpuNs' | 'userTicks' | 'systemTicks' | 'waits' | 'preemptions'): number =>
      now[figure] - (was?.[figure] ?? 0) + (sum?.[figure] ?? 0);
    sums.set(key, {
      process: now.process,
      thread: now.thread,
      cpuNs: grown('cpuNs'),
      userTicks: grown('userTicks'),
      systemTicks: grown('systemTicks'),
      waits: grown('waits'),
      preemptions: grown('preemptions'),
    });
  }
  return [...sums.values()].toSorted((a, b) => b.cpuNs - a.cpuNs);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
