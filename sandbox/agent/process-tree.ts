// Kills everything that a command started, including processes that left its group. Every process has the command's
// marker in its environment, which /proc shows to the same user.
import { readdirSync, readFileSync } from 'node:fs';
import { MARK_VARIABLE } from './settings.ts';

/** Scans are repeated, because a fork bomb is faster than one scan. */
const ROUNDS_MAX = 50;

/**
 * @param group process group of the command; null if not known. @param mark the marker of the command, or of a whole
 * sandbox.
 */
export function killTree(group: number | null, mark: string, signal: NodeJS.Signals): void {
  if (group !== null) send(-group, signal);
  // A command only cleans up its own known children on SIGTERM; SIGKILL cannot be caught.
  if (signal !== 'SIGKILL') return;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const found = marked(mark);
    if (found.length === 0) return;
    // Stopped processes cannot fork during the scan.
    for (const pid of found) send(pid, 'SIGSTOP');
    for (const pid of found) send(pid, 'SIGKILL');
  }
}

/** Ids of processes with a marker: `s1` matches `s1` and `s1.4`. */
export function marked(mark: string): number[] {
  const entry = `${MARK_VARIABLE}=${mark}`;
  const found: number[] = [];
  for (const name of entriesOf('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    try {
      const variables = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
      if (variables.some((variable) => variable === entry || variable.startsWith(`${entry}.`))) found.push(pid);
    } catch {
      // The process has exited in the meantime, or belongs to another user.
    }
  }
  return found;
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Without /proc, only process groups are killed.
    return [];
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Exited meanwhile.
  }
}
