// Ends all that a command started, also what left its group: every process has the command's mark in its environment,
// which /proc shows to the user it runs as.
import { readdirSync, readFileSync } from 'node:fs';
import { MARK_VARIABLE } from './settings.ts';

/** A fork bomb is faster than one look. */
const ROUNDS_MAX = 50;

/**
 * @param group of the process that was started, which leads it; null: none is known.
 * @param mark of the command, or of a whole sandbox.
 */
export function killTree(group: number | null, mark: string, signal: NodeJS.Signals): void {
  if (group !== null) send(-group, signal);
  // What a program does at its end is for those that it knows of; nothing escapes the one that cannot be caught.
  if (signal !== 'SIGKILL') return;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const found = marked(mark);
    if (found.length === 0) return;
    // One that stands still starts nothing while the others are looked for.
    for (const pid of found) send(pid, 'SIGSTOP');
    for (const pid of found) send(pid, 'SIGKILL');
  }
}

/** Ids of processes with a mark: `s1` is found in `s1` and `s1.4`. */
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
      // Ended meanwhile, or of somebody else.
    }
  }
  return found;
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // No Linux: groups have to do.
    return [];
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Ended meanwhile.
  }
}
