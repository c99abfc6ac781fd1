// The frames between an engine and the database service: length-prefixed, pipelined, answered in any order. The service
// and its client (runtime/stores/database-service.ts) both import it. No I/O.
//
// Request: u32 length of what follows, u32 id, u8 op, u8 length of the name, u32 transaction (0: none), u32 CPU ms it
// may take (0: any), name, payload (JSON). Answer: u32 length of what follows, u32 id, u8 kind, u32 CPU us it took,
// payload.
import { databaseOps, outboxOps } from '#core/database-request.ts';

/** Every op: those on a database (core/database-request.ts), those of its owner, and those of the connection itself. */
export const ops = {
  ...databaseOps,
  ...outboxOps,
  /** `[[name, sql], ...]` -> `{applied}`. */
  migrate: 20,
  /** `[file]` -> `{bytes}`: a copy of the database in that file of the host. */
  backup: 21,
  /** `[file]` -> `{}`: that file takes the database's place; `[resource, true]`: another database of its project. */
  restore: 22,
  /** `[name, unlessThere]` -> `{bytes, shared, made}` (copies.ts): a new database with the same content. */
  branch: 23,
  /** `[]` -> `{removed}`: the database is gone; false where there was none. */
  remove: 24,
  /** `[]` -> `{bytes, path}`. */
  describe: 25,
  /** `[[name, sql], ...]` -> `{there, applied, pending}`: names; nothing is applied, and no database made. */
  migrations: 26,
  /** `[]` -> `{databases: [{resource, bytes, changedAt}]}`: all of the project, whichever is asked. */
  siblings: 27,
  /** `[]` -> `{statements}` (core/resource-call.ts): which took long since the database was opened. */
  slow: 28,
  /** The first frame: `{key, token?, shard?}` -> `{}`; `key` is a number that names the connection. */
  hello: 40,
  /** `{}`, the database as name -> `{shard, path}`: who owns it. */
  route: 41,
  /** `{shard, key}` -> {@link Verdict}: why a shard ended. */
  verdict: 42,
  /**
   * `{id, file?, replace?, cancel?, waitMs?}`, the database as name -> {@link ImportState}: puts a file of the host
   * into it, in a process of its own; without `file` it only says how far that is, with `waitMs` when it is over or
   * that has passed.
   */
  import: 43,
  /** `{}` -> bytes of all files by namespace; null in a managed cloud. */
  kept: 44,
} as const;

export const kinds = {
  /** JSON: the result, or a refusal. */
  json: 0,
  /** Bytes. */
  bytes: 1,
  /** JSON `[code, details]`: an error of core/errors.ts. */
  failure: 2,
} as const;

/** What of some migrations was applied to a database, and what is still to be. */
export interface KnownMigrations {
  /** False: there is no database yet. */
  readonly there: boolean;
  /** In the order in which they were applied. */
  readonly applied: readonly string[];
  readonly pending: readonly string[];
}

/** Why a shard ended, as far as it concerns one connection. */
export interface Verdict {
  /** The shard still lives: only the connection broke. */
  readonly alive: boolean;
  /** The request of this connection that it was ended for. */
  readonly blamed: number | null;
  readonly reason: 'time' | 'memory' | null;
  /** How long the statement was allowed to run. */
  readonly limitMs: number;
  /** The request may begin again: its database now has a process of its own. */
  readonly again: boolean;
  /** Requests of this connection with a higher id were never begun; null when nobody knows. */
  readonly begun: number | null;
}

/** How far an import is. */
export interface ImportState {
  /** `unknown`: it was never begun, or the service was started since. */
  readonly state: 'unknown' | 'running' | 'done' | 'failed';
  readonly statements: number;
  /** From 0 to 1; of statements and rows that are read, before the checks at the end. */
  readonly part: number;
  /** Why it failed; nothing was changed then. */
  readonly reason: string | null;
  /** What was not taken over, such as messages that wait for a queue. */
  readonly leftOut: readonly string[];
}

/** Of an import that nobody knows. */
export const unknownImport: ImportState = { state: 'unknown', statements: 0, part: 0, reason: null, leftOut: [] };

const REQUEST_HEADER = 18;
const ANSWER_HEADER = 13;

/** A request as one buffer. @param cpuLeftMs what its statements may take; 0: any. */
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

/** An answer as one buffer. @param cpuMs that its statements took. */
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

/** A request as it came in; `payload` is a view that is valid until the next chunk. */
interface RequestFrame {
  readonly id: number;
  readonly op: number;
  readonly name: string;
  readonly transaction: number;
  /** CPU that its statements may take; 0: any. */
  readonly cpuLeftMs: number;
  readonly payload: Buffer;
}

/** @throws {RangeError} for bytes that are no request. */
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

/** @throws {RangeError} for bytes that are no answer. */
export function readAnswer(frame: Buffer): AnswerFrame {
  if (frame.length < ANSWER_HEADER - 4) throw new RangeError('An answer frame is too short');
  return {
    id: frame.readUInt32LE(0),
    kind: frame[4] as number,
    cpuMs: frame.readUInt32LE(5) / 1000,
    payload: frame.subarray(ANSWER_HEADER - 4),
  };
}

/** Cuts a stream of chunks into frames. */
export class FrameReader {
  readonly #frameBytesMax: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #wanted = 4;

  constructor(frameBytesMax: number) {
    this.#frameBytesMax = frameBytesMax;
  }

  /**
   * Hands every complete frame (without its length) to `onFrame`, in order.
   *
   * @throws {RangeError} for a frame longer than allowed; the connection is then of no use any more.
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
