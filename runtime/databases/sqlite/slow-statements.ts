// Which statements of one database took long since it was opened: what an operator looks at when an app is slow. In
// memory and bounded; database-file.ts answers with it. A statement that ended its process is not among them.
import { OWN_STATEMENT, type SlowStatement } from '#core/resource-call/databases.ts';

const KEPT_MAX = 100;
const TEXT_CHARS_MAX = 2000;

/** The statements of one database that took long. */
export class SlowStatements {
  readonly #leastMs: number;
  readonly #kept = new Map<string, { -readonly [Name in keyof SlowStatement]: SlowStatement[Name] }>();

  /** @param leastMs what a run takes at least to count */
  constructor(leastMs: number) {
    this.#leastMs = leastMs;
  }

  /** Notes a run, if it took long. Values that were bound are not part of its text. */
  note(text: string, ms: number, rowsRead: number): void {
    if (ms < this.#leastMs || text.startsWith(OWN_STATEMENT)) return;
    const sql = text.slice(0, TEXT_CHARS_MAX);
    const found = this.#kept.get(sql);
    if (found === undefined) {
      if (this.#kept.size >= KEPT_MAX) this.#drop();
      this.#kept.set(sql, { sql, count: 1, msTotal: ms, msMax: ms, rowsRead, lastAt: Date.now() });
      return;
    }
    found.count++;
    found.msTotal += ms;
    found.msMax = Math.max(found.msMax, ms);
    found.rowsRead += rowsRead;
    found.lastAt = Date.now();
  }

  /** Those that took most in all first. */
  list(): SlowStatement[] {
    return [...this.#kept.values()].toSorted((one, other) => other.msTotal - one.msTotal);
  }

  /** The one that took least in all. */
  #drop(): void {
    const last = this.list().at(-1);
    if (last !== undefined) this.#kept.delete(last.sql);
  }
}
