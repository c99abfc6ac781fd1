// Whether the disk below a folder has room to be written to: looked at no more than once a second. Reads and deletes
// never ask. The system call comes in as an argument.
import { PlatformError } from '../errors.ts';

const LOOK_MS = 1000;

/** What is used of `statfsSync`. */
type StatFs = (folder: string) => { readonly bavail: number; readonly bsize: number };

export class FreeSpace {
  #folder: string;
  #bytesMin: number;
  #statfs: StatFs;
  #now: () => number;
  #lookedAt = -Infinity;
  #bytes = Infinity;

  /** @param bytesMin below which nothing is written; 0: never looked at. */
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
        // It is not there yet, or cannot be asked: the write itself will say.
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

/** A store some of whose calls write, and are refused while the disk is full. */
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
