// Whether the disk of a folder has enough free space for writes: checked at most once a second. Reads and deletions do
// not check the free space. The caller passes the system call as an argument.
import { PlatformError } from '../errors.ts';

const LOOK_MS = 1000;

/** The used part of `statfsSync`. */
type StatFs = (folder: string) => { readonly bavail: number; readonly bsize: number };

export class FreeSpace {
  #folder: string;
  #bytesMin: number;
  #statfs: StatFs;
  #now: () => number;
  #lookedAt = -Infinity;
  #bytes = Infinity;

  /** @param bytesMin minimum free space for writes; with 0, the disk is never checked. */
  constructor(folder: string, bytesMin: number, statfs: StatFs, now: () => number = () => performance.now()) {
    this.#folder = folder;
    this.#bytesMin = bytesMin;
    this.#statfs = statfs;
    this.#now = now;
  }

  get isLow(): boolean {
    if (this.#bytesMin === 0) return false;
    const now = this.#now();
    if (now - this.#lookedAt >= LOOK_MS) {
      this.#lookedAt = now;
      try {
        const { bavail, bsize } = this.#statfs(this.#folder);
        this.#bytes = bavail * bsize;
      } catch {
        // The folder is missing, or the call fails: the write itself reports the error.
        this.#bytes = Infinity;
      }
    }
    return this.#bytes < this.#bytesMin;
  }

  /** @throws {PlatformError} `disk_full`. */
  check(): void {
    if (this.isLow) throw new PlatformError('disk_full');
  }
}

/** A store whose write calls are refused while the disk is full. */
export function whereThereIsSpace<Store extends object>(
  store: Store,
  space: FreeSpace,
  names: readonly (keyof Store & string)[],
): Store {
  const calls: Record<string, unknown> = {};
  for (const name of names) {
    const call = store[name] as (...parameters: unknown[]) => unknown;
    calls[name] = (...parameters: unknown[]) => {
      space.check();
      return call(...parameters);
    };
  }
  return { ...store, ...calls };
}
