// The frames between an engine and the database service: length-prefixed, pipelined, answered in any order. Imported
// by the service and its client (runtime/stores/database-service.ts). No I/O.
//
// Request: u32 length of the rest, u32 id, u8 op, u8 length of the name, u32 transaction (0: none), u32 CPU limit in
// ms (0: none), name, payload (JSON). Response: u32 length of the rest, u32 id, u8 kind, u32 CPU us used, payload.
import { databaseOps, outboxOps } from '#core/database-request.ts';
import { objectOps } from '#core/object-storage.ts';

/** All operations: on a database (core/database-request.ts), of its owner, and of the connection itself. */
export const ops = {
  ...databaseOps,
  ...outboxOps,
  ...objectOps,
  /** `[[name, sql], ...]` -> `{applied}`. */
  migrate: 20,
  /** `[file]` -> `{bytes}`: copies the database to that file of the host. */
  backup: 21,
  /**
   * `[file]` -> `{}` replaces the database with that file; `[resource, true]` with another database of its project;
   * `[resource, true, keepAs]` also stores the replaced database under that name.
   */
  restore: 22,
  /** `[name, unlessThere]` -> `{bytes, shared, made}` (copies.ts): a new database with the same content. */
  branch: 23,
  /** `[]` -> `{removed}`: deletes the database; false if it does not exist. */
  remove: 24,
  /** `[]` -> `{bytes, path}`. */
  describe: 25,
  /**
   * `[[name, sql], ...]` -> `{there, applied, pending}`: the names of migrations; applies none, and creates no
   * database.
   */
  migrations: 26,
  /**
   * `[after?]` -> `{databases: [{resource, bytes, changedAt}]}`: databases of the project, regardless of the name;
   * at most 10,000, behind that resource.
   */
  siblings: 27,
  /** `[]` -> `{statements}` (core/resource-call.ts): slow statements since the database was opened. */
  slow: 28,
  /**
   * The first frame: `{key, token?, shard?}` -> `{peers?}`; `key` is a number that identifies the connection, `peers`
   * are addresses of other services.
   */
  hello: 40,
  /** `{}`, the database as name -> `{shard, path}`: the shard that owns it; or {@link Elsewhere}. */
  route: 41,
  /** `{shard, key}` -> {@link Verdict}: why a shard ended. */
  verdict: 42,
  /**
   * `{id, file?, replace?, cancel?, waitMs?}`, the database as name -> {@link ImportState}: imports a file of the
   * host in a separate process; without `file` it only returns the progress, with `waitMs` at the end of the import
   * or after that time.
   */
  import: 43,
  /** `{}` -> bytes of all files by namespace; null in a managed cloud. */
  kept: 44,
  /** `{}`, any database of the namespace as name -> `{}`: deletes the files of the namespace that are not databases. */
  sweep: 45,
  /** `{}`, the database as name -> `{range}`: the period to which its replica can be restored, or null. */
  replica: 46,
  /**
   * `{at, resource}`, the database as name -> `{bytes, time}`: a new database of its project as it was at that moment,
   * in milliseconds since 1970.
   */
  restoreAt: 47,
  /** `{to}`, any database of the project as name -> `{}`: moves the project to the service of that machine. */
  move: 48,
  /** `{from, key}`, from service to service: copies the files of a project that is held there. */
  adopt: 49,
  /** `{key}` -> `{files: [{path, bytes}]}`: files of a project that is held for a move. */
  files: 50,
  /** `{key, path, offset}` -> bytes: a part of one of the files. */
  part: 51,
} as const;

export const kinds = {
  /** JSON: the result, or a refusal. */
  json: 0,
  /** Bytes. */
  bytes: 1,
  /** JSON `[code, details]`: an error of core/errors.ts. */
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

/** Why a shard ended, for one connection. */
export interface Verdict {
  /** The shard is running: only the connection broke. */
  readonly alive: boolean;
  /** The request of this connection that caused it to be ended. */
  readonly blamed: number | null;
  readonly reason: 'time' | 'memory' | null;
  /** Time limit of the statement. */
  readonly limitMs: number;
  /** The request can be retried: its database now has a separate process. */
  readonly again: boolean;
  /** Statements of the blamed request, a script, that are applied. */
  readonly applied: number;
  /** Requests of this connection with a higher id were never started; null if unknown. */
  readonly begun: number | null;
}

/** Progress of an import. */
export interface ImportState {
  /** `unknown`: it was never started, or the service was restarted since. */
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

/** Encodes a request. @param cpuLeftMs CPU limit of its statements; 0 means no limit. */
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

/** Encodes a response. @param cpuMs used by its statements. */
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
