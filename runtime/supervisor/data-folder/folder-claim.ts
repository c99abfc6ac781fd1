// The claim of one platform to its data folder. On one machine, containers included, the lock of the operating system
// decides. A file system that machines share may not carry locks from one to the other (NFS without them), so whoever
// holds it also gives a sign of life in `locks/databases.holder`. Taken by main.ts.
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { readJson, writeWhole } from '#core/process/platform-record.ts';
import { takeLock } from '#artifacts/file-lock.ts';

/** Who works on a folder. */
interface Holder {
  /** Of this claim. */
  readonly id: string;
  readonly machine: string;
  readonly host: string;
  readonly pid: number;
  /** Counts up while it lives: clocks of two machines need not agree. */
  readonly beat: number;
}

/** Between two signs of life. */
const BEAT_MS = 2000;
/** Another machine that gave none for so many is gone. */
const SILENT_BEATS = 4;

/** Parts of a claim. */
interface ClaimOptions {
  /** Somebody else took the folder, since no sign of life came through: this platform has to end. */
  readonly onLost: (reason: string) => void;
  readonly beatMs?: number;
  readonly machine?: string;
}

/**
 * Claims a data folder. Waits where the last holder was another machine, until that one has been silent long enough.
 *
 * @returns gives it back.
 * @throws {Error} that says who works on it, and what to do.
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
      // A clean end takes the file away.
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
      // A full disk: the next one may come through.
    }
  }, beatMs).unref();
  return () => {
    clearInterval(timer);
    if (read()?.id === own.id) rmSync(holderFile, { force: true });
    lock.release();
  };
}

/** Of this start of this machine: all its containers have the same. */
function machineId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return hostname();
  }
}
