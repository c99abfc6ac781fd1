// Which process owns which database: its project's hash decides, until it has ended a process; then it has one of its
// own for a while. Pure: the service asks, and starts what is answered.
import { createHash } from 'node:crypto';

/** Where a database is at home. */
type Home = { readonly kind: 'shared'; readonly index: number } | { readonly kind: 'own'; readonly index: number };

interface Suspect {
  readonly own: number;
  until: number;
}

/** Processes that died without a word before a database that was in flight each time is moved. */
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
   * A database made its process end: from now on it has one of its own, shared only with suspects when there are too
   * many.
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

  /** A process died without a word, and these were in flight. */
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

  /** Databases whose time is over are at home again; returns the own processes that nobody needs any more. */
  release(now: number): number[] {
    const before = new Set<number>();
    for (const { own } of this.#suspects.values()) before.add(own);
    for (const [name, { until }] of this.#suspects) if (until < now) this.#suspects.delete(name);
    for (const { own } of this.#suspects.values()) before.delete(own);
    return [...before];
  }
}
