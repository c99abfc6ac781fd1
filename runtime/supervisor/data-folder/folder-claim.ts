// The claim of one platform to its data folder. On one machine, containers included, the operating system's lock
// decides. A shared file system may not pass locks between machines (such as NFS without locks), so the holder also
// writes a heartbeat to `locks/databases.holder`. Taken by main.ts.
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { readJson, writeWhole } from '#core/process/platform-record.ts';
import { takeLock } from '#artifacts/file-lock.ts';

/** The platform that uses a folder. */
interface Holder {
  /** Id of this claim. */
  readonly id: string;
  readonly machine: string;
  readonly host: string;
  readonly pid: number;
  /** A counter that the holder increases while it runs, because clocks of two machines may differ. */
  readonly beat: number;
}

/** Interval of heartbeats. */
const BEAT_MS = 2000;
/** Another machine is considered lost after this many missed heartbeats. */
const SILENT_BEATS = 4;

/** Options of a claim. */
interface ClaimOptions {
  /** Called when another platform took the folder because it saw no heartbeat: this platform must stop. */
  readonly onLost: (reason: string) => void;
  readonly beatMs?: number;
  readonly machine?: string;
}

/**
 * Claims a data folder. If the last holder was another machine, waits until its heartbeat has been absent for long
 * enough.
 *
 * @returns releases the claim. @throws {Error} that names the holder and the solution.
 */
export async function claimFolder(folder: string, options: ClaimOptions): Promise<() => void> {
  const { onLost, beatMs = BEAT_MS, machine = machineId() } = options;
  const lockFile = join(folder, 'locks', 'databases');
  const holderFile = `${lockFile}.holder`;
  const read = (): Holder | null => readJson(holderFile) as Holder | null;
  const taken = (by: Holder | null): Error =>
    new Error(
      `Another platform works on the data folder ${folder}${by === null ? '' : ` (on ${by.host}, process ${by.pid})`}: ` +
        'stop that one first, or set FS_PATH and DB_STORAGE_DIR for a second one',
    );
  const lock = takeLock(lockFile);
  if (lock === null) throw taken(read());
  const before = read();
  if (before !== null && before.machine !== machine)
    for (let beat = 0; beat < SILENT_BEATS; beat++) {
      await new Promise((resolve) => setTimeout(resolve, beatMs));
      const now = read();
      // After a clean end, there is no file.
      if (now === null) break;
      if (now.id === before.id && now.beat === before.beat) continue;
      lock.release();
      throw taken(now);
    }
  const own = { id: randomUUID(), machine, host: hostname(), pid: process.pid };
  let beat = 0;
  writeWhole(holderFile, { ...own, beat });
  const timer = setInterval(() => {
    const now = read();
    if (now !== null && now.id !== own.id) {
      clearInterval(timer);
      onLost(taken(now).message);
      return;
    }
    try {
      writeWhole(holderFile, { ...own, beat: ++beat });
    } catch {
      // The disk is full: the next heartbeat may succeed.
    }
  }, beatMs).unref();
  return () => {
    clearInterval(timer);
    if (read()?.id === own.id) rmSync(holderFile, { force: true });
    lock.release();
  };
}

/** Id of this boot of the machine, shared by all its containers. */
function machineId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return hostname();
  }
}
