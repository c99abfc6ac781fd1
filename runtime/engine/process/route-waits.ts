// Waits until the routes of this engine are as somebody needs them: whoever changed a record asks before the engine has
// read it. Made by main.ts, asked by operation-routes.ts.

/** A record is read within moments; where the file system does not tell of changes, within two seconds. */
const WAIT_MS_MAX = 2500;

/** Questions that wait for the next change of the routes. */
export class RouteWaits {
  #waiting = new Set<() => void>();

  /** The routes have changed. */
  changed(): void {
    for (const look of this.#waiting) look();
  }

  /** What `find` answers once it is not null; null where that takes too long. */
  waitFor<Found>(find: () => Found | null, waitMs = WAIT_MS_MAX): Promise<Found | null> {
    const found = find();
    if (found !== null) return Promise.resolve(found);
    return new Promise((resolve) => {
      const end = (value: Found | null): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve(value);
      };
      const look = (): void => {
        const value = find();
        if (value !== null) end(value);
      };
      const timer = setTimeout(() => end(null), waitMs);
      this.#waiting.add(look);
    });
  }
}
