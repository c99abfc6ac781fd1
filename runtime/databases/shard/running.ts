// The running statement of a shard, in memory shared with its watchdog; and the note that a shard leaves for its
// parent when it ends.

/** Descriptor on which the parent reads the note. */
export const NOTE_FD = 4;

/** Maximum number of connections of one shard. */
const CONNECTIONS_MAX = 1024;

/** Indices into the shared memory. */
export const field = {
  /** Odd while SQL runs, incremented at every change. */
  turn: 0,
  /** Slot of the connection. */
  connection: 1,
  /** Its request. */
  request: 2,
  /** Number of the database, in the order of opening. */
  database: 3,
  /** Time limit in ms. */
  limit: 4,
  /** Number of applied statements of a script. */
  applied: 5,
  /** From this index on, two numbers per connection: its key, and its last started request. */
  connections: 6,
} as const;

/** The note of an ending shard. */
export interface ShardNote {
  readonly reason: 'time' | 'memory' | 'stopped';
  readonly limitMs: number;
  /** The database of the request that caused the end. */
  readonly database: string | null;
  /** Key of the connection, and id, of that request. */
  readonly running: readonly [key: number, request: number] | null;
  /** Number of applied statements, if that request is a script. */
  readonly applied: number;
  /** The last started request of each connection, by the key of the connection. */
  readonly begun: readonly (readonly [key: number, request: number])[];
}

/** The value of `turn` while the watchdog ends the process. The number is odd, because SQL is running. */
export const ENDING = -1;
/** How long the watchdog may take to end a statement. */
const ENDING_MS = 5000;

/**
 * From here on, the watchdog does not stop the running statement, because its effects are visible. Does not return if
 * the watchdog was faster.
 */
export function endTurn(view: Int32Array): void {
  const turn = Atomics.load(view, field.turn);
  if (turn % 2 === 0) return;
  if (turn !== ENDING && Atomics.compareExchange(view, field.turn, turn, turn + 1) === turn) return;
  Atomics.wait(view, field.turn, ENDING, ENDING_MS);
  process.exit(1);
}

export function newMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(4 * (field.connections + 2 * CONNECTIONS_MAX));
}

/** The part of the note that is in the shared memory. */
export function noteOf(view: Int32Array): Pick<ShardNote, 'running' | 'applied' | 'begun'> {
  const begun: [number, number][] = [];
  for (let at: number = field.connections; at < view.length; at += 2) {
    if (view[at] !== 0) begun.push([(view[at] as number) >>> 0, (view[at + 1] as number) >>> 0]);
  }
  const place = field.connections + 2 * (view[field.connection] as number);
  const isRunning = (view[field.turn] as number) % 2 !== 0;
  return {
    running: isRunning ? [(view[place] as number) >>> 0, (view[field.request] as number) >>> 0] : null,
    applied: view[field.applied] as number,
    begun,
  };
}
