// Slow statements of one database since it was opened, to find out why an app is slow. The list is in memory and
// limited; database-file.ts returns it. A statement for which the process was ended is not included.
import { OWN_STATEMENT, type SlowStatement } from '#core/resource-call/databases.ts';

const KEPT_MAX = 100;
const TEXT_CHARS_MAX = 2000;

/** The slow statements of one database. */
export class SlowStatements {
  readonly #leastMs: number;
  readonly #kept = new Map<string, { -readonly [Name in keyof SlowStatement]: SlowStatement[Name] }>();

  /** @param leastMs minimum duration of a run to count */
  constructor(leastMs: number) {
    this.#leastMs = leastMs;
  }

  /** Records a run if it was slow. Bound values are not part of its text. */
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

  /** Sorted by total duration, longest first. */
  list(): SlowStatement[] {
    return [...this.#kept.values()].toSorted((one, other) => other.msTotal - one.msTotal);
  }

  /** Drops the statement with the shortest total duration. */
  #drop(): void {
    const last = this.list().at(-1);
    if (last !== undefined) this.#kept.delete(last.sql);
  }
}
