// Assigns databases to processes, by the hash of their project. A database that has crashed a process gets a separate
// one for a while. Pure: the service asks, and starts the process.
import { createHash } from 'node:crypto';

/** Assignment of a database. */
type Home = { readonly kind: 'shared'; readonly index: number } | { readonly kind: 'own'; readonly index: number };

interface Suspect {
  readonly own: number;
  until: number;
}

/** A database that had pending requests in this many unexplained process deaths is moved. */
const DEATHS_MAX = 2;

export class Routes {
  readonly #shards: number;
  readonly #ownMax: number;
  readonly #probationMs: number;
  readonly #suspects = new Map<string, Suspect>();
  readonly #deaths = new Map<string, { count: number; until: number }>();

  constructor(shards: number, ownMax: number, probationMs: number) {
    this.#shards = shards;
    this.#ownMax = ownMax;
    this.#probationMs = probationMs;
  }

  homeOf(name: string): Home {
    const suspect = this.#suspects.get(name);
    if (suspect !== undefined) return { kind: 'own', index: suspect.own };
    const project = name.slice(0, name.indexOf('/'));
    return { kind: 'shared', index: createHash('sha256').update(project).digest().readUInt32LE() % this.#shards };
  }

  /**
   * Called when a database caused its process to be killed. The database now gets a separate process, which it shares
   * only with other suspects if there are too many.
   */
  suspect(name: string, now: number): void {
    const known = this.#suspects.get(name);
    if (known !== undefined) {
      known.until = now + this.#probationMs;
      return;
    }
    const tenants = Array.from({ length: this.#ownMax }, () => 0);
    for (const { own } of this.#suspects.values()) tenants[own] = (tenants[own] as number) + 1;
    this.#suspects.set(name, { own: tenants.indexOf(Math.min(...tenants)), until: now + this.#probationMs });
  }

  /** Called when a process died without an explanation while these databases had pending requests. */
  died(names: readonly string[], now: number): void {
    for (const name of names) {
      const before = this.#deaths.get(name);
      const count = before === undefined || before.until < now ? 1 : before.count + 1;
      this.#deaths.delete(name);
      if (count >= DEATHS_MAX) this.suspect(name, now);
      else this.#deaths.set(name, { count, until: now + this.#probationMs });
    }
    for (const [name, { until }] of this.#deaths) if (until < now) this.#deaths.delete(name);
  }

  /** Moves databases back after their time; returns the separate processes that are no longer needed. */
  release(now: number): number[] {
    const before = new Set<number>();
    for (const { own } of this.#suspects.values()) before.add(own);
    for (const [name, { until }] of this.#suspects) if (until < now) this.#suspects.delete(name);
    for (const { own } of this.#suspects.values()) before.delete(own);
    return [...before];
  }
}
