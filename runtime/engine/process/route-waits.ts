// Waits until the routes of this engine match a condition, because a client that has changed a record may ask before
// the engine has read it. Created by main.ts, used by operation-routes.ts.

/**
 * Timeout. A record is usually read within moments, but may take two seconds if the file system does not report
 * changes.
 */
const WAIT_MS_MAX = 2500;

/** Waits for conditions on the routes. */
export class RouteWaits {
  #waiting = new Set<() => void>();

  /** Called when the routes have changed. */
  changed(): void {
    for (const look of this.#waiting) look();
  }

  /** Resolves with the result of `find` when it is not null; null after a timeout. */
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
