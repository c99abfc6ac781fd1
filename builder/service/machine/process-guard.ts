// Ensures that no build process outlives the builder. A shell process stores the process groups of builds and reads
// from a pipe. When the builder dies, the pipe closes, and the shell kills the groups. Processes that survive (if both
// were killed) are killed when the next builder starts.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** Tracks the process groups of builds. */
export interface ProcessGuard {
  /** @returns a function to call when the group has exited. */
  add(group: number): () => void;
  /** Stops the shell, which kills the groups that are still registered. */
  close(): Promise<void>;
}

/** Reads `+ <group>` and `- <group>`; at the end of its input, it kills the registered groups. */
const SCRIPT = `trap '' HUP INT TERM
groups=' '
while read -r change group; do
  case $change in
    +) groups="$groups$group " ;;
    -) case $groups in *" $group "*) groups="\${groups%% $group *} \${groups#* $group }" ;; esac ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done`;

/** @param record file with the registered groups, for the next builder. */
export function openProcessGuard(record: string): ProcessGuard {
  const shell = spawn('/bin/sh', ['-c', SCRIPT], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // The shell has a separate session, so that signals to the builder's group do not reach it.
    detached: true,
    env: {},
    cwd: '/',
  });
  shell.on('error', () => {});
  shell.stdin.on('error', () => {});
  shell.unref();
  const groups = new Map<number, string | null>();
  const note = (): void =>
    writeFileSync(record, [...groups].map(([group, started]) => `${group} ${started ?? ''}\n`).join(''), {
      mode: 0o600,
    });
  return {
    add(group) {
      shell.stdin.write(`+ ${group}\n`);
      groups.set(group, startOf(group));
      note();
      return () => {
        if (!groups.delete(group)) return;
        shell.stdin.write(`- ${group}\n`);
        note();
      };
    },
    async close() {
      const ended = new Promise((resolve) => {
        if (shell.exitCode !== null || shell.pid === undefined) resolve(null);
        else shell.once('exit', resolve);
      });
      shell.ref();
      shell.stdin.end();
      await ended;
      rmSync(record, { force: true });
    },
  };
}

const GONE_MS_MAX = 5000;
const LOOK_MS = 20;
/** User ids of builds, one per slot. */
const SLOTS_MAX = 256;

/**
 * Kills the processes of an earlier builder: the groups of its record, processes with a build folder, and all processes
 * of build users. Call this function only while holding the folder's lock. @param firstUid first build user; null means
 * that builds have no separate users.
 *
 * @returns how many processes were killed.
 */
export async function endLeftovers(record: string, workRoot: string, firstUid: number | null = null): Promise<number> {
  const recorded = readRecord(record);
  const killed = new Set<number>();
  for (const until = performance.now() + GONE_MS_MAX; performance.now() < until; await pause(LOOK_MS)) {
    const left = processes().filter(
      ({ pid, group, started }) =>
        // A reused process id belongs to a younger process.
        (recorded.has(group) && (pid !== group || recorded.get(group) === started) && isOfBuild(pid, workRoot)) ||
        (pid === group && recorded.has(group) && recorded.get(group) === started) ||
        isBelow(pid, workRoot) ||
        (firstUid !== null && isBetween(userOf(pid), firstUid, firstUid + SLOTS_MAX)),
    );
    if (left.length === 0) break;
    for (const { pid } of left) {
      killed.add(pid);
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // Exited in the meantime.
      }
    }
  }
  rmSync(record, { force: true });
  return killed.size;
}

function readRecord(record: string): ReadonlyMap<number, string> {
  try {
    const lines = readFileSync(record, 'utf8').trim().split('\n');
    return new Map(
      lines.flatMap((line) => {
        const [group, started] = line.split(' ');
        return Number(group) > 1 && started ? [[Number(group), started]] : [];
      }),
    );
  } catch {
    return new Map();
  }
}

interface RunningProcess {
  readonly pid: number;
  readonly group: number;
  /** Clock ticks since boot. */
  readonly started: string;
}

/** Processes in /proc on Linux; elsewhere they cannot be listed, and only the shell kills them. */
function processes(): RunningProcess[] {
  let names: string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    const pid = Number(name);
    const fields = Number.isInteger(pid) && pid > 1 && pid !== process.pid ? statOf(pid) : null;
    // A zombie has exited and only waits for its parent.
    return fields === null || fields[0] === 'Z' ? [] : [{ pid, group: Number(fields[2]), started: fields[19]! }];
  });
}

function userOf(pid: number): number {
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid ?? 0;
}

function isBetween(value: number, least: number, end: number): boolean {
  return value >= least && value < end;
}

function startOf(pid: number): string | null {
  return statOf(pid)?.[19] ?? null;
}

/** The fields of `/proc/<pid>/stat`, starting with the state. */
function statOf(pid: number): string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}

function isBelow(pid: number, folder: string): boolean {
  try {
    const place = readlinkSync(`/proc/${pid}/cwd`);
    return place === folder || place.startsWith(`${folder}${sep}`);
  } catch {
    return false;
  }
}

/** Whether a process has a build folder in its environment, such as its home. */
function isOfBuild(pid: number, folder: string): boolean {
  try {
    return readFileSync(join('/proc', String(pid), 'environ'), 'utf8').includes(folder);
  } catch {
    return false;
  }
}
