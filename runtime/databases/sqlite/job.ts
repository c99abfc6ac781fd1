// A request for a database: what to run, for which connection, and how to respond. Created by shard-connection.ts.

/** A request for a database. */
export interface Job {
  readonly op: number;
  /** Transaction of the request; 0 if there is none. */
  readonly transaction: number;
  readonly args: readonly unknown[];
  /** Connection of the request: transactions that are left open end with it. */
  readonly owner: object;
  /** Number of applied statements of a script, which continues after them. */
  applied: number;
  /** Called once. */
  answer(kind: number, payload: string | Uint8Array): void;
  /** Called before SQL of the job runs. */
  begin(): void;
  /**
   * From this call on, the job is not stopped for its time or memory: its effects are complete, and a retry would
   * repeat them.
   */
  settle(): void;
  end(): void;
}
