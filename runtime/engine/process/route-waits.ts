// Waits until the routes of this engine match a condition: a client that changed a record may ask before the engine has
// read it. Created by main.ts, used by operation-routes.ts.

/** A record is read within moments; within two seconds if the file system does not report changes. */
const WAIT_MS_MAX = 2500;

/** Conditions that wait for the next change of the routes. */
export class RouteWaits {
  #waiting = new Set<() => void>();

  /** The routes have changed. */
  changed(): void {
    for (const look of this.#waiting) look();
  }

  /** The result of `find` once it is not null; null after a timeout. */
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
