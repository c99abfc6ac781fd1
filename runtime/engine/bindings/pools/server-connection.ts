// One connection of a pool to its server: opened and authenticated, lent to one session after another, and reset in
// between. A tenant chooses the server, so all its responses are limited. Made by pools.ts.
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { mayConnect, type EgressPolicy } from '#core/egress.ts';
import { PlatformError } from '#core/errors.ts';
import { Failure, isFailure } from '#core/failure.ts';
import { targetOf } from '#core/outbound/target.ts';
import { authenticate } from './authentication.ts';
import {
  CANCEL_REQUEST,
  codeOf,
  errorField,
  firstMessage,
  message,
  MessageReader,
  SSL_REQUEST,
  startupMessage,
} from './messages.ts';
import type { ServerAddress } from './server-address.ts';

/** How a connection reaches the server of the pool. */
export interface ServerDeps {
  readonly policy: EgressPolicy;
  readonly meter: { add(socket: Socket): void };
}

/** The session for which a connection is opened. */
export interface Opener {
  readonly lookup: LookupFunction;
  /** Charges milliseconds of CPU. */
  readonly charge: (ms: number) => void;
}

/** The session that uses the connection. */
export interface ConnectionUser {
  /**
   * Returns false to pause until {@link ServerConnection.resume}. @param messages number of messages that ended in the
   * chunk.
   */
  received(chunk: Buffer, messages: number): boolean;
  /** Called when the connection is lost. */
  lost(): void;
  drained(): void;
}

const CONNECT_MS = 15_000;
const RESET_MS = 10_000;
const CANCEL_MS = 10_000;
/** Maximum number of bytes that a server may send until it is ready, and outside of sessions. */
const GREETING_BYTES_MAX = 64 * 1024;
const PARAMETER_BYTES_MAX = 4096;
/** Maximum number of parameters that a server may report; it has about 15. */
const PARAMETERS_MAX = 64;
const HANDSHAKE_MS = 1;
const KEEP_ALIVE_MS = 10_000;
/** Connections to this port are never opened, as for all sockets of workers. */
const SMTP_PORT = 25;

const RESET = message('Q', 'DISCARD ALL\0');

export class ServerConnection {
  /** Identifies the parameters of the connection, which are the same for connections with the same key. */
  readonly key: string;
  /** Parameters that the server reported, as in ParameterStatus. */
  readonly parameters = new Map<string, Buffer>();
  /** The time at which the connection became idle. */
  idleSince = 0;
  /** Set by the pool, and called once when the connection has ended. */
  onClose: (() => void) | null = null;
  #address: ServerAddress;
  #deps: ServerDeps;
  #socket: Socket | TLSSocket;
  #reader: MessageReader;
  #user: ConnectionUser | null = null;
  /** Receives the kept messages while the connection is opened or reset. */
  #listener: ((type: number, body: Buffer | null) => void) | null = null;
  /** Called if the connection ends while it is opened or reset. */
  #onLost: (() => void) | null = null;
  /** Bytes that arrived since the last session. */
  #unasked = 0;
  #cancelKey: Buffer | null = null;
  #transaction = 0;
  /** Number of messages since the start of the session that say the server is ready for the next query. */
  #ready = 0;
  #isCancelled = false;
  #isClosed = false;

  private constructor(socket: Socket | TLSSocket, key: string, address: ServerAddress, deps: ServerDeps) {
    this.#socket = socket;
    this.key = key;
    this.#address = address;
    this.#deps = deps;
    this.#reader = new MessageReader(
      (type, body) => this.#message(type, body),
      (type) => this.#keeps(type),
    );
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    socket.on('error', () => {});
    socket.once('close', () => this.#closed());
    socket.once('end', () => this.destroy());
    socket.on('drain', () => this.#user?.drained());
    socket.on('data', (chunk: Buffer) => this.#take(chunk)).resume();
  }

  /**
   * @param parameters the parameters of the connection's sessions.
   * @throws {Failure} `pool_refused`.
   */
  static async open(
    key: string,
    address: ServerAddress,
    parameters: Readonly<Record<string, string>>,
    deps: ServerDeps,
    opener: Opener,
  ): Promise<ServerConnection> {
    const socket = await reach(address, deps, opener);
    const connection = new ServerConnection(socket, key, address, deps);
    try {
      await connection.#begin(parameters, opener);
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  #begin(parameters: Readonly<Record<string, string>>, { charge }: Opener): Promise<void> {
    const { user, database } = this.#address;
    const authentication = authenticate(this.#address, charge);
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        clearTimeout(timer);
        this.#listener = this.#onLost = null;
        reject(isFailure(error, 'pool_refused') ? error : refused('08001', `The pool: ${error.message}`));
      };
      const timer = setTimeout(() => fail(new Error('the server did not answer in time')), CONNECT_MS);
      this.#onLost = () => fail(new Error('the server closed the connection'));
      const answers = (body: Buffer): void => {
        authentication.next(body).then((answer) => {
          if (answer !== null && !this.#isClosed) this.#socket.write(answer);
        }, fail);
      };
      this.#listener = (type, body) => {
        if (type === codeOf('E'))
          fail(refused(errorField(body!, 'C') ?? '08001', 'The server refused the connection', Buffer.from(body!)));
        else if (type === codeOf('R')) answers(body ?? Buffer.alloc(0));
        else if (type === codeOf('K') && body !== null) this.#cancelKey = Buffer.from(body);
        else if (type === codeOf('Z')) {
          if (!authentication.isDone) return fail(new Error('the server did not authenticate'));
          clearTimeout(timer);
          this.#listener = this.#onLost = null;
          this.#unasked = 0;
          resolve();
        }
      };
      this.#socket.write(startupMessage({ user, database, ...parameters }));
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Number of ReadyForQuery messages since the start of the session. */
  get readyCount(): number {
    return this.#ready;
  }

  /** Whether the server's last message was complete, and ended outside of a transaction. */
  get isAtRest(): boolean {
    return (
      !this.#isClosed &&
      !this.#isCancelled &&
      this.#transaction === codeOf('I') &&
      this.#reader.isBetween &&
      this.#socket.writableLength === 0
    );
  }

  /** Lends the connection to a session. */
  lend(user: ConnectionUser): void {
    this.#user = user;
    this.#ready = 0;
  }

  /** Returns false if the session must wait for `drained`. */
  write(chunk: Buffer): boolean {
    return this.#socket.write(chunk);
  }

  resume(): void {
    this.#socket.resume();
  }

  /**
   * Takes the connection back from its session, and resets it. @returns false if the connection must not be used again,
   * and is closed.
   */
  async reset(): Promise<boolean> {
    const isAtRest = this.isAtRest;
    this.#user = null;
    this.#unasked = 0;
    if (!isAtRest) {
      this.destroy();
      return false;
    }
    this.#socket.resume();
    const isReset = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), RESET_MS);
      const end = (done: boolean): void => {
        clearTimeout(timer);
        resolve(done);
      };
      let hasFailed = false;
      this.#onLost = () => end(false);
      this.#listener = (type, body) => {
        if (type === codeOf('E')) hasFailed = true;
        else if (type === codeOf('Z')) end(!hasFailed && body?.[0] === codeOf('I'));
      };
      this.#socket.write(RESET);
    });
    this.#listener = this.#onLost = null;
    this.#unasked = 0;
    if (!isReset) this.destroy();
    return isReset;
  }

  #keeps(type: number): number {
    if (type === codeOf('Z')) return 1;
    if (type === codeOf('S')) return PARAMETER_BYTES_MAX;
    return this.#user === null ? GREETING_BYTES_MAX : 0;
  }

  #take(chunk: Buffer): void {
    const user = this.#user;
    const before = this.#reader.count;
    if (user === null && (this.#unasked += chunk.length) > GREETING_BYTES_MAX) return this.destroy();
    try {
      this.#reader.push(chunk);
    } catch {
      return this.destroy();
    }
    if (user !== null && !user.received(chunk, this.#reader.count - before)) this.#socket.pause();
  }

  #message(type: number, body: Buffer | null): void {
    if (type === codeOf('Z')) {
      this.#ready++;
      this.#transaction = body?.[0] ?? 0;
    } else if (type === codeOf('S') && body !== null) {
      const name = body.toString('latin1', 0, body.indexOf(0));
      if (this.parameters.has(name) || this.parameters.size < PARAMETERS_MAX)
        this.parameters.set(name, Buffer.from(body));
    }
    if (this.#listener !== null) this.#listener(type, body);
    // Between sessions, a server sends only parameters and notices.
    else if (this.#user === null && type !== codeOf('S') && type !== codeOf('N')) this.destroy();
  }

  /**
   * Asks the server to cancel the running statement, over a separate connection. The connection is not used again after
   * its session.
   */
  async cancel(opener: Opener): Promise<void> {
    if (this.#isCancelled || this.#cancelKey === null) return;
    this.#isCancelled = true;
    try {
      const socket = await reach(this.#address, this.#deps, opener);
      socket.on('error', () => {});
      socket.setTimeout(CANCEL_MS, () => socket.destroy());
      await new Promise<void>((resolve) => {
        socket.once('close', () => resolve());
        socket.once('end', () => socket.destroy());
        socket.resume().write(firstMessage(CANCEL_REQUEST, this.#cancelKey!));
      });
    } catch {
      // If this fails, the query may continue, as with any cancellation.
    }
  }

  /** Ends the connection; an idle one with a Terminate message. */
  end(): void {
    if (this.#isClosed) return;
    this.#socket.end(message('X'), () => this.#socket.destroy());
    this.#closed();
  }

  destroy(): void {
    this.#socket.destroy();
    this.#closed();
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const user = this.#user;
    this.#user = null;
    this.#onLost?.();
    user?.lost();
    this.onClose?.();
  }
}

/** Opens a socket to the server, with TLS according to its URL. @throws {Failure} `pool_refused`. */
async function reach(
  address: ServerAddress,
  { policy, meter }: ServerDeps,
  opener: Opener,
): Promise<Socket | TLSSocket> {
  const { host, port } = address;
  if (port === SMTP_PORT || (isIP(host) !== 0 && !mayConnect(host, policy)))
    throw refusalOf(new PlatformError('egress_forbidden', { address: targetOf(host, port) }));
  const plain = connect({ host, port, lookup: opener.lookup, noDelay: true });
  meter.add(plain);
  try {
    await opened(plain, 'connect', 'the server did not accept the connection in time');
    return address.tls === 'disable' ? plain : await secured(plain, address, opener);
  } catch (error) {
    plain.destroy();
    throw refusalOf(error as Error);
  }
}

async function secured(plain: Socket, { host, tls }: ServerAddress, { charge }: Opener): Promise<Socket | TLSSocket> {
  plain.write(firstMessage(SSL_REQUEST));
  const answer = await new Promise<Buffer>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the server did not answer in time')), CONNECT_MS);
    const end = (): void => clearTimeout(timer);
    plain.once('data', (chunk) => {
      end();
      plain.pause();
      resolve(chunk);
    });
    plain.once('close', () => {
      end();
      reject(new Error('the server closed the connection'));
    });
  });
  // Further bytes would be unencrypted data before TLS.
  if (answer.length === 1 && answer[0] === codeOf('N') && tls === 'prefer') return plain;
  if (answer.length !== 1 || answer[0] !== codeOf('S')) throw new Error('the server does not support TLS');
  charge(HANDSHAKE_MS);
  const options: ConnectionOptions = {
    socket: plain,
    ...(isIP(host) === 0 ? { servername: host } : { host }),
    rejectUnauthorized: tls === 'verify-ca' || tls === 'verify-full',
    ...(tls === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
  };
  const secure = connectTls(options);
  secure.once('close', () => plain.destroy());
  plain.once('close', () => secure.destroy());
  await opened(secure, 'secureConnect', 'the TLS handshake took too long');
  return secure;
}

function opened(socket: Socket, name: 'connect' | 'secureConnect', late: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(late)), CONNECT_MS);
    socket.once(name, () => {
      clearTimeout(timer);
      resolve();
    });
    socket.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    socket.once('close', () => {
      clearTimeout(timer);
      reject(new Error('the server closed the connection'));
    });
  });
}

/** If the host has several addresses, the error has one message for each. */
function refusalOf(error: Error): Failure<'pool_refused'> {
  if (isFailure(error, 'pool_refused')) return error;
  const { code, message: text } = error as NodeJS.ErrnoException;
  if (error instanceof PlatformError) return refused('08004', `${String(code)}: ${text}`);
  return refused('08001', `The pool cannot reach its server: ${text === '' ? String(code) : text}`);
}

function refused(state: string, text: string, body?: Uint8Array): Failure<'pool_refused'> {
  return new Failure('pool_refused', text, body === undefined ? { state } : { state, body });
}
