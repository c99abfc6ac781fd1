// Memory and CPU of a process of this machine, from Linux. Used by the metrics of the private port; not available on
// other systems.
import { readFileSync } from 'node:fs';

/** `/proc/<pid>/stat` always counts in hundredths of a second. */
const TICKS_PER_SECOND = 100;

/** Usage of a process. */
interface ProcessFigures {
  readonly residentBytes: number;
  /** User and system. */
  readonly cpuSeconds: number;
}

/** Null if unavailable: the process has exited, or the system is not Linux. */
export function readProcessFigures(pid: number): ProcessFigures | null {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    // Fields are parsed after the process's name, which may contain any character.
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
