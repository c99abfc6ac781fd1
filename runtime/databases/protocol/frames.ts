// The frames between an engine and the database service: length-prefixed, pipelined, answered in any order. Imported
// by the service and its client (runtime/stores/database-service.ts). No I/O.
//
// Request: u32 length of the rest, u32 id, u8 op, u8 length of the name, u32 transaction (0: none), u32 CPU limit in
// ms (0: none), name, payload (JSON). Response: u32 length of the rest, u32 id, u8 kind, u32 CPU us used, payload.
import { databaseOps, outboxOps } from '#core/database-request.ts';
import { objectOps } from '#core/object-storage.ts';

/**
 * All operations: requests to a database (core/database-request.ts), operations of its owner, and messages about the
 * connection. Comments give the form of the payload and of the response.
 */
export const ops = {
  ...databaseOps,
  ...outboxOps,
  ...objectOps,
  /** `[[name, sql], ...]` -> `{applied}`. */
  migrate: 20,
  /** Copies the database to a file of the host: `[file]` -> `{bytes}`. */
  backup: 21,
  /**
   * Replaces the database: `[file]` with a file, `[resource, true]` with another database of its project. `[resource,
   * true, keepAs]` also stores the replaced database under the name `keepAs`.
   */
  restore: 22,
  /** Creates a new database with the same content: `[name, unlessThere]` -> `{bytes, shared, made}` (copies.ts). */
  branch: 23,
  /** Deletes the database: `[]` -> `{removed}`, which is false if the database does not exist. */
  remove: 24,
  /** `[]` -> `{bytes, path}`. */
  describe: 25,
  /**
   * Lists the names of applied and pending migrations: `[[name, sql], ...]` -> `{there, applied, pending}`. Applies no
   * migration, and creates no database.
   */
  migrations: 26,
  /**
   * Lists at most 10,000 databases of the project: `[after?]` -> `{databases: [{resource, bytes, changedAt}]}`. The
   * list is sorted by name, and begins behind the resource `after`.
   */
  siblings: 27,
  /** Lists the slow statements since the database was opened: `[]` -> `{statements}` (core/resource-call.ts). */
  slow: 28,
  /**
   * The first frame of a connection: `{key, token?, shard?}` -> `{peers?}`. `key` is a number that identifies the
   * connection. `peers` are addresses of other services.
   */
  hello: 40,
  /** Finds the shard that owns a database: `{}`, with the database as name -> `{shard, path}`, or {@link Elsewhere}. */
  route: 41,
  /** Asks why a shard ended: `{shard, key}` -> {@link Verdict}. */
  verdict: 42,
  /**
   * Imports a file of the host in a separate process: `{id, file?, replace?, cancel?, waitMs?}`, with the database as
   * name -> {@link ImportState}. Without `file`, only returns the progress; with `waitMs`, waits for the end of the
   * import for at most that time.
   */
  import: 43,
  /** Returns the bytes of all files by namespace; null in a managed cloud. The request is `{}`. */
  kept: 44,
  /**
   * Deletes the files of a namespace that are not databases: `{}`, with any database of the namespace as name -> `{}`.
   */
  sweep: 45,
  /**
   * Returns the period to which the replica of a database can be restored, or null: `{}`, with the database as name ->
   * `{range}`.
   */
  replica: 46,
  /**
   * Creates a new database from the state of a database at a moment, in milliseconds since 1970: `{at, resource}`, with
   * the old database as name -> `{bytes, time}`.
   */
  restoreAt: 47,
  /** Moves a project to the service of a machine: `{to}`, with any database of the project as name -> `{}`. */
  move: 48,
  /**
   * Sent between services: the receiver copies the files of a project from the service `from`, which holds its
   * requests. The request is `{from, key}`.
   */
  adopt: 49,
  /** Lists the files of a project whose requests are held for a move: `{key}` -> `{files: [{path, bytes}]}`. */
  files: 50,
  /** Returns a part of one of these files: `{key, path, offset}` -> bytes. */
  part: 51,
} as const;

export const kinds = {
  /** The result or a refusal, as JSON. */
  json: 0,
  /** Bytes. */
  bytes: 1,
  /** An error of core/errors.ts, as JSON: `[code, details]`. */
  failure: 2,
  /** Empty if the request was not started, because the project's databases are, or may be, on another machine. */
  elsewhere: 3,
} as const;

/** The response of a service that is not the home of the project. */
export interface Elsewhere {
  /** Address of the home. */
  readonly at: string;
}

/** The migrations of a database that are applied, and the pending ones. */
export interface KnownMigrations {
  /** False: the database does not exist yet. */
  readonly there: boolean;
  /** The migrations, in the order in which they were applied. */
  readonly applied: readonly string[];
  readonly pending: readonly string[];
}

/** The reason why a shard ended, for one connection. */
export interface Verdict {
  /** The shard is still running, and only the connection broke. */
  readonly alive: boolean;
  /** The request of this connection that caused the shard to be ended. */
  readonly blamed: number | null;
  readonly reason: 'time' | 'memory' | null;
  /** Time limit of the statement. */
  readonly limitMs: number;
  /** The request can be retried: its database now has a separate process. */
  readonly again: boolean;
  /** Number of applied statements, if the blamed request is a script. */
  readonly applied: number;
  /** Id of the last started request of this connection; null if unknown. */
  readonly begun: number | null;
}

/** Progress of an import. */
export interface ImportState {
  /** `unknown` means that the import was never started, or the service was restarted since. */
  readonly state: 'unknown' | 'running' | 'done' | 'failed';
  readonly statements: number;
  /** From 0 to 1, of statements and rows that are read, before the checks at the end. */
  readonly part: number;
  /** Reason of the failure; the database is then unchanged. */
  readonly reason: string | null;
  /** Data that was omitted, such as messages waiting for a queue. */
  readonly leftOut: readonly string[];
}

/** State of an unknown import. */
export const unknownImport: ImportState = { state: 'unknown', statements: 0, part: 0, reason: null, leftOut: [] };

const REQUEST_HEADER = 18;
const ANSWER_HEADER = 13;

/** Encodes a request. @param cpuLeftMs CPU limit of the request's statements; 0 means no limit. */
export function requestFrame(
  id: number,
  op: number,
  name: string,
  transaction: number,
  payload: string | Uint8Array,
  cpuLeftMs = 0,
): Buffer {
  const length = typeof payload === 'string' ? Buffer.byteLength(payload) : payload.length;
  const frame = Buffer.allocUnsafe(REQUEST_HEADER + name.length + length);
  frame.writeUInt32LE(frame.length - 4, 0);
  frame.writeUInt32LE(id, 4);
  frame[8] = op;
  frame[9] = name.length;
  frame.writeUInt32LE(transaction, 10);
  frame.writeUInt32LE(cpuLeftMs, 14);
  frame.write(name, REQUEST_HEADER, 'latin1');
  if (typeof payload === 'string') frame.write(payload, REQUEST_HEADER + name.length, 'utf8');
  else frame.set(payload, REQUEST_HEADER + name.length);
  return frame;
}

/** Encodes a response. @param cpuMs the CPU that the request's statements have used. */
export function answerFrame(id: number, kind: number, payload: string | Uint8Array, cpuMs = 0): Buffer {
  const length = typeof payload === 'string' ? Buffer.byteLength(payload) : payload.length;
  const frame = Buffer.allocUnsafe(ANSWER_HEADER + length);
  frame.writeUInt32LE(frame.length - 4, 0);
  frame.writeUInt32LE(id, 4);
  frame[8] = kind;
  frame.writeUInt32LE(Math.min(0xffff_ffff, Math.round(cpuMs * 1000)), 9);
  if (typeof payload === 'string') frame.write(payload, ANSWER_HEADER, 'utf8');
  else frame.set(payload, ANSWER_HEADER);
  return frame;
}

/** A received request; `payload` is a view that is valid until the next chunk. */
export interface RequestFrame {
  readonly id: number;
  readonly op: number;
  readonly name: string;
  readonly transaction: number;
  /** CPU limit of its statements; 0 means no limit. */
  readonly cpuLeftMs: number;
  readonly payload: Buffer;
}

/** @throws {RangeError} for a malformed request. */
export function readRequest(frame: Buffer): RequestFrame {
  const nameLength = frame.length < REQUEST_HEADER - 4 ? Infinity : (frame[5] as number);
  if (frame.length < REQUEST_HEADER - 4 + nameLength) throw new RangeError('A request frame is too short');
  const payloadAt = REQUEST_HEADER - 4 + nameLength;
  return {
    id: frame.readUInt32LE(0),
    op: frame[4] as number,
    name: frame.toString('latin1', REQUEST_HEADER - 4, payloadAt),
    transaction: frame.readUInt32LE(6),
    cpuLeftMs: frame.readUInt32LE(10),
    payload: frame.subarray(payloadAt),
  };
}

interface AnswerFrame {
  readonly id: number;
  readonly kind: number;
  readonly cpuMs: number;
  readonly payload: Buffer;
}

/** @throws {RangeError} for a malformed response. */
export function readAnswer(frame: Buffer): AnswerFrame {
  if (frame.length < ANSWER_HEADER - 4) throw new RangeError('An answer frame is too short');
  return {
    id: frame.readUInt32LE(0),
    kind: frame[4] as number,
    cpuMs: frame.readUInt32LE(5) / 1000,
    payload: frame.subarray(ANSWER_HEADER - 4),
  };
}

/** Splits a stream of chunks into frames. */
export class FrameReader {
  readonly #frameBytesMax: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #wanted = 4;

  constructor(frameBytesMax: number) {
    this.#frameBytesMax = frameBytesMax;
  }

  /**
   * Passes every complete frame (without its length) to `onFrame`, in order.
   *
   * @throws {RangeError} for a frame longer than allowed; the connection cannot be used afterwards.
   */
  push(chunk: Buffer, onFrame: (frame: Buffer) => void): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < this.#wanted) return;
    const bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#bytes);
    let at = 0;
    this.#wanted = 4;
    while (bytes.length - at >= 4) {
      const length = bytes.readUInt32LE(at);
      if (length > this.#frameBytesMax)
        throw new RangeError(`A frame of ${length} bytes is longer than ${this.#frameBytesMax}`);
      if (bytes.length - at - 4 < length) {
        this.#wanted = 4 + length;
        break;
      }
      onFrame(bytes.subarray(at + 4, at + 4 + length));
      at += 4 + length;
    }
    this.#chunks = at < bytes.length ? [bytes.subarray(at)] : [];
    this.#bytes = bytes.length - at;
  }
}
