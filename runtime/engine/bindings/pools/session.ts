// One connection of a worker to a pool. The worker's client sees a Postgres server that accepts it, and its messages
// are forwarded over a connection of the pool. When the client ends between two queries, outside of a transaction, the
// connection goes back; otherwise it is closed. Made by hyperdrive.ts. Everything that is written to it comes from a
// worker.
import { randomInt } from 'node:crypto';
import { Duplex } from 'node:stream';
import { isFailure } from '#core/failure.ts';
import {
  CANCEL_REQUEST,
  codeOf,
  errorMessage,
  GSS_REQUEST,
  int32,
  message,
  MessageReader,
  PROTOCOL,
  readParameters,
  SSL_REQUEST,
} from './messages.ts';
import type { Pools } from './pools.ts';
import type { ConnectionUser, Opener, ServerConnection } from './server-connection.ts';
import type { ServerAddress } from './server-address.ts';

/** The pool of a session. */
interface SessionPool {
  readonly pools: Pools;
  readonly namespace: string;
  readonly preview: string | null;
  readonly address: ServerAddress;
  readonly opener: Opener;
}

const BUFFER_BYTES = 64 * 1024;
/** CPU cost of one message, in addition to the cost of its bytes. */
const MESSAGE_MS = 0.0002;
/** As Postgres. */
const STARTUP_BYTES_MAX = 10_000;
/** Maximum number of parameters that a client may set for its session. */
const PARAMETERS_MAX = 20;
/** Types of messages of a client after its authentication. */
const CLIENT_TYPES = new Set([...'QPBEDCFdcfHSX'].map(codeOf));
/** Messages that the server answers with ReadyForQuery. */
const ANSWERED = new Set([...'QSF'].map(codeOf));
/** Messages that must be followed by a Sync. */
const EXTENDED = new Set([...'PBEDC'].map(codeOf));
const SYNCED = new Set([...'QS'].map(codeOf));

/** A stream that bindings/tcp-connection.ts uses like a socket. */
export class PoolSession extends Duplex implements ConnectionUser {
  readonly remoteAddress = '240.0.0.1';
  readonly remotePort = 5432;
  readonly remoteFamily = 'IPv4';
  readonly localAddress = '240.0.0.0';
  readonly localPort = 0;
  #pool: SessionPool;
  /** Number of requests for encryption so far; a client can send two kinds. */
  #encryptions = 0;
  /** Data that arrived before the session was open. */
  #greeting: Buffer = Buffer.alloc(0);
  #connection: ServerConnection | null = null;
  #reader: MessageReader;
  #abort = new AbortController();
  /** Called when the client may send the next bytes. */
  #next: (() => void) | null = null;
  /** Number of responses that the client waits for. */
  #asked = 0;
  #awaitsSync = false;
  #isTerminated = false;
  #isOver = false;
  #isWrong = false;
  #left: (() => void) | null = null;

  constructor(pool: SessionPool) {
    super({ allowHalfOpen: true, readableHighWaterMark: BUFFER_BYTES, writableHighWaterMark: BUFFER_BYTES });
    this.#pool = pool;
    this.#reader = new MessageReader(
      () => {},
      () => 0,
      (type) => this.#follows(type),
    );
    process.nextTick(() => this.destroyed || this.emit('connect'));
  }

  /** No timeout is needed here: the pool has its own time limits. */
  setTimeout(): this {
    return this;
  }

  override _read(): void {
    this.#connection?.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    if (this.#isOver) return done();
    if (this.#connection === null) this.#greet(chunk, done);
    else this.#pass(chunk, done);
  }

  override _final(done: () => void): void {
    // The client has ended, so a pending response is not awaited.
    this.#finish();
    this.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#finish();
    done(error);
  }

  /** The messages that begin a session have no type. */
  #greet(chunk: Buffer, done: () => void): void {
    const bytes = Buffer.concat([this.#greeting, chunk]);
    const length = bytes.length < 4 ? 0 : bytes.readInt32BE(0);
    if (bytes.length >= 4 && (length < 8 || length > STARTUP_BYTES_MAX)) {
      this.#refuse('08P01', 'The message that begins the session is not valid');
      return done();
    }
    if (bytes.length < 4 || bytes.length < length) {
      this.#greeting = bytes;
      return done();
    }
    this.#greeting = Buffer.alloc(0);
    const code = bytes.readInt32BE(4);
    const rest = bytes.subarray(length);
    if ((code === SSL_REQUEST || code === GSS_REQUEST) && this.#encryptions++ < 2) {
      // Encryption is refused, because the data does not leave the engine on its way to the pool.
      this.push('N');
      return rest.length === 0 ? done() : this.#greet(rest, done);
    }
    if (code === CANCEL_REQUEST) {
      void this.#cancel(bytes.subarray(8, length));
      return done();
    }
    if (code !== PROTOCOL) {
      this.#refuse('0A000', 'The pool supports only version 3.0 of the Postgres protocol');
      return done();
    }
    const given = readParameters(bytes.subarray(8, length));
    const problem = given === null ? 'The message that begins the session is not valid' : problemOf(given);
    if (problem !== null) {
      this.#refuse('08P01', problem);
      return done();
    }
    const { user: _user, database: _database, ...parameters } = given!;
    this.#begin({ ...this.#pool.address.parameters, ...parameters }).then(() => {
      if (rest.length === 0 || this.#connection === null) done();
      else this.#pass(rest, done);
    }, done);
  }

  async #begin(parameters: Readonly<Record<string, string>>): Promise<void> {
    const { pools, namespace, preview, address, opener } = this.#pool;
    let connection: ServerConnection;
    try {
      connection = await pools.take({ namespace, preview, address, parameters, opener }, this.#abort.signal);
    } catch (error) {
      if (!isFailure(error, 'pool_refused')) return this.#refuse('XX000', 'The pool failed');
      const { state, message: text, body } = error;
      if (body !== undefined && !this.#isOver) this.push(message('E', body));
      return this.#refuse(state, text, body === undefined);
    }
    if (this.#isOver) return pools.keep(namespace, connection);
    if (connection.isClosed) return this.#refuse('08006', 'The server closed the connection');
    this.#connection = connection;
    connection.lend(this);
    const key = Buffer.concat([int32(randomInt(1, 0x7fff_ffff)), int32(randomInt(-0x8000_0000, 0x7fff_ffff))]);
    this.#left = pools.began(namespace, cancelKeyOf(preview, key), this);
    const reported = [...connection.parameters.values()].map((body) => message('S', body));
    this.push(Buffer.concat([message('R', int32(0)), ...reported, message('K', key), message('Z', 'I')]));
  }

  /** @returns false if the session ends here. */
  #follows(type: number): boolean {
    if (!CLIENT_TYPES.has(type)) this.#isWrong = true;
    else if (type === codeOf('X')) this.#isTerminated = true;
    else {
      if (ANSWERED.has(type)) this.#asked++;
      if (EXTENDED.has(type)) this.#awaitsSync = true;
      else if (SYNCED.has(type)) this.#awaitsSync = false;
      return true;
    }
    return false;
  }

  #pass(chunk: Buffer, done: () => void): void {
    const connection = this.#connection!;
    const before = this.#reader.count;
    let read = 0;
    try {
      read = this.#reader.push(chunk);
    } catch {
      this.#isWrong = true;
    }
    this.#pool.opener.charge((this.#reader.count - before) * MESSAGE_MS);
    if (this.#isWrong) {
      this.#refuse('08P01', 'A message of the client is not valid');
      return done();
    }
    const isOpen = read === 0 || connection.write(read === chunk.length ? chunk : chunk.subarray(0, read));
    if (this.#isTerminated) {
      this.#finish();
      this.push(null);
      done();
    } else if (isOpen) done();
    else this.#next = done;
  }

  /** Cancels the running statement of the session, for a CancelRequest. */
  async cancelWork(opener: Opener): Promise<void> {
    await this.#connection?.cancel(opener);
  }

  async #cancel(key: Buffer): Promise<void> {
    const { pools, namespace, preview, opener } = this.#pool;
    await pools.sessionOf(namespace, cancelKeyOf(preview, key))?.cancelWork(opener);
    if (!this.destroyed) this.push(null);
  }

  received(chunk: Buffer, messages: number): boolean {
    if (this.#isOver) return true;
    this.#pool.opener.charge(messages * MESSAGE_MS);
    return this.push(chunk);
  }

  drained(): void {
    const next = this.#next;
    this.#next = null;
    next?.();
  }

  lost(): void {
    this.#connection = null;
    this.#finish();
    if (!this.destroyed) this.push(null);
  }

  #refuse(code: string, text: string, says = true): void {
    if (this.#isOver) return;
    if (says) this.push(errorMessage(code, text));
    this.#finish();
    this.push(null);
  }

  /** Called when the client has ended, or may not continue: gives the connection back, or closes it. */
  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#abort.abort();
    this.#left?.();
    this.drained();
    const connection = this.#connection;
    this.#connection = null;
    if (connection === null) return;
    const isBetween = this.#reader.isBetween && !this.#awaitsSync && !this.#isWrong;
    if (isBetween && this.#asked === connection.readyCount)
      void this.#pool.pools.giveBack(this.#pool.namespace, connection);
    else connection.destroy();
  }
}

/** The key contains the branch, so that a branch can only cancel its own sessions. */
function cancelKeyOf(preview: string | null, key: Buffer): string {
  return `${preview ?? ''}/${key.toString('hex')}`;
}

/** The problem with the parameters of a session. */
function problemOf(given: Readonly<Record<string, string>>): string | null {
  const names = Object.keys(given);
  if (names.length > PARAMETERS_MAX) return `A session has at most ${PARAMETERS_MAX} parameters`;
  if (names.some((name) => name === 'replication' || name.startsWith('_pq_.')))
    return 'A pool offers no replication and no extensions of the protocol';
  return null;
}
