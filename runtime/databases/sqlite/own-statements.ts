// The platform's statements on one connection, which the fence lets pass. Called by connection.ts and compiler.ts.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { StoredValue } from '#core/database-request.ts';
import type { DatabaseLimits } from '#core/limits.ts';
import type { Fence } from './fence.ts';

export class OwnStatements {
  readonly #db: DatabaseSync;
  readonly #fence: Fence;
  readonly #limits: DatabaseLimits;
  readonly #statements = new Map<string, StatementSync>();

  constructor(db: DatabaseSync, fence: Fence, limits: DatabaseLimits) {
    this.#db = db;
    this.#fence = fence;
    this.#limits = limits;
  }

  /** Runs a statement; compiled once. */
  run(sql: string, ...values: StoredValue[]): unknown[][] {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#fence.own(() => this.#db.prepare(sql));
      this.#statements.set(sql, statement);
    }
    // SQLite may recompile a statement while it runs, after a change of the schema.
    const compiled = statement;
    return this.#fence.own(() => compiled.all(...values)) as unknown as unknown[][];
  }

  /** Like {@link run}, for values as long as a chunk of vectors. */
  runLarge(sql: string, ...values: StoredValue[]): unknown[][] {
    this.#db.limits.length = this.#limits.vectorChunkBytesMax;
    try {
      return this.run(sql, ...values);
    } finally {
      this.#db.limits.length = this.#limits.valueBytesMax;
    }
  }

  /** Runs a script. */
  script(sql: string): void {
    this.#fence.own(() => this.#db.exec(sql));
  }

  /** Like {@link script}, but also runs statements that SQLite normally forbids. */
  scriptDefenceless(sql: string): void {
    this.#db.enableDefensive(false);
    try {
      this.script(sql);
    } finally {
      this.#db.enableDefensive(true);
    }
  }
}
