// Memory and CPU of a process of this machine, as Linux tells them. Used by the metrics of the private port; elsewhere
// there are none.
import { readFileSync } from 'node:fs';

/** Of `/proc/<pid>/stat`: Linux counts in hundredths of a second, whatever its clock does. */
const TICKS_PER_SECOND = 100;

/** What a process has used. */
export interface ProcessFigures {
  readonly residentBytes: number;
  /** User and system. */
  readonly cpuSeconds: number;
}

/** Null where it cannot be told: the process is gone, or the system is another one. */
export function readProcessFigures(pid: number): ProcessFigures | null {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    // Behind the name, which may hold anything.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (kilobytes === undefined) return null;
    return {
      residentBytes: Number(kilobytes) * 1024,
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
    };
  } catch {
    return null;
  }
}
