// node:net: TCP clients as streams over the sockets of workers (runtime/engine/guest/lazy/tcp.ts), with the rules of
// `fetch`. The module has no servers and no Unix sockets. Bundled into workers by node-compat.ts.
import { Buffer } from './buffer.ts';
import { Duplex as DuplexBase } from './stream.ts';

type Done = (error?: Error | null) => void;
type Listener = (...args: never[]) => void;

/** The host's data about an open connection. */
export interface Opened {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly remoteFamily: string;
  readonly localAddress: string;
  readonly localPort: number;
  readonly alpn?: string | false;
  readonly protocol?: string | null;
  readonly certificate?: Record<string, unknown> | null;
  readonly authorizationError?: string | null;
}

/** One connection of the guest. */
export interface RawSocket {
  readonly opened: Promise<Opened>;
  readonly closed: Promise<void>;
  read(): Promise<Uint8Array | null>;
  cancel(): void;
  write(bytes: Uint8Array): Promise<void>;
  end(): void;
  destroy(): void;
  startTls(tls: object): Promise<Opened>;
}

interface Hooks {
  tcpOpen(args: object): RawSocket;
}

/** The parts of a Duplex used in this file. */
interface NodeDuplex {
  on(name: string, listener: Listener): this;
  once(name: string, listener: Listener): this;
  emit(name: string, ...args: unknown[]): boolean;
  push(chunk: unknown): boolean;
  read(size?: number): unknown;
  end(...args: unknown[]): this;
  destroy(error?: Error): this;
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  readonly writableLength: number;
  readonly readableEnded: boolean;
}
const Duplex = DuplexBase as new (options?: object) => NodeDuplex;

/** Options of a connection. */
export interface ConnectOptions {
  readonly host?: string;
  readonly port?: number | string;
  readonly path?: string;
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  readonly allowHalfOpen?: boolean;
  readonly onread?: object;
}

/** Opens a connection of the guest. */
export function openRaw(args: object): RawSocket {
  const hooks = (globalThis as Record<symbol, unknown>)[Symbol.for('platform.node')] as Hooks | undefined;
  if (hooks === undefined) throw new Error('Sockets work only on the platform');
  return hooks.tcpOpen(args);
}

function notHere(what: string): Error {
  return Object.assign(new Error(`${what} is not available in a worker`), {
    code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM',
  });
}

/** A TCP client. */
export class Socket extends Duplex {
  connecting = false;
  bytesRead = 0;
  bytesWritten = 0;
  timeout = 0;
  remoteAddress: string | undefined;
  remotePort: number | undefined;
  remoteFamily: string | undefined;
  localAddress: string | undefined;
  localPort: number | undefined;
  _host: string | null = null;
  /** Null before `connect`, and after TLS took the connection over. */
  #raw: RawSocket | null = null;
  #isReading = false;
  #isOpen = false;
  /** Bytes were requested before the connection was open. */
  #isWanted = false;
  #wasTaken = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ConnectOptions = {}) {
    super({ allowHalfOpen: options.allowHalfOpen === true, emitClose: false, autoDestroy: true });
    if (options.signal !== undefined) abortBy(this, options.signal);
  }

  connect(...given: unknown[]): this {
    const [options, listener] = connectArguments(given);
    if (listener !== undefined) this.once('connect', listener);
    if (options.path !== undefined) {
      queueMicrotask(() => this.destroy(notHere(`A Unix socket (${options.path})`)));
      return this;
    }
    const { host = 'localhost', port } = options;
    if (options.timeout !== undefined) this.setTimeout(options.timeout);
    this._host = host;
    this._use(openRaw({ hostname: host, port: Number(port) }), { host, port: Number(port) });
    return this;
  }

  /** Continues with a connection that is being opened. @param to for errors. */
  _use(raw: RawSocket, to: { readonly host: string; readonly port: number }, opened = raw.opened): void {
    this.#raw = raw;
    this.connecting = true;
    opened.then(
      (open) => {
        if (this.destroyed) return;
        this.connecting = false;
        this.#isOpen = true;
        const { remoteAddress, remotePort, remoteFamily, localAddress, localPort } = open;
        Object.assign(this, { remoteAddress, remotePort, remoteFamily, localAddress, localPort });
        this._opened(open);
        if (this.destroyed) return;
        this.#restart();
        this.emit('connect');
        this.emit('ready');
        this._connected();
        // As in Node, reading starts without a reader, so that the end of the connection is noticed.
        if (this.#isWanted) this._read();
        else this.read(0);
      },
      (error: Error) => {
        this.connecting = false;
        this.destroy(Object.assign(error, { syscall: 'connect', address: to.host, port: to.port }));
      },
    );
    raw.closed.catch((error: Error) => {
      if (this.#raw === raw && this.#isOpen) this.destroy(error);
    });
  }

  /** Overridden by TLS sockets; called before and after `connect` is emitted. */
  _opened(_opened: Opened): void {}
  _connected(): void {}

  /** Gives the connection to TLS. @throws {Error} when there is no socket. */
  _take(by: NodeDuplex): RawSocket {
    const raw = this.#raw;
    if (raw === null) throw notHere('TLS over a socket that is not connected');
    this.#raw = null;
    this.#wasTaken = true;
    clearTimeout(this.#timer);
    by.once('close', () => this.destroy());
    return raw;
  }

  _read(): void {
    const raw = this.#raw;
    // A stream that has already requested data does not request it again.
    this.#isWanted = raw === null || !this.#isOpen;
    if (raw === null || !this.#isOpen || this.#isReading) return;
    this.#isReading = true;
    raw.read().then(
      (chunk) => {
        this.#isReading = false;
        if (this.#raw !== raw || this.destroyed) return;
        this.#restart();
        if (chunk === null) {
          this.push(null);
          this.read(0);
          return;
        }
        this.bytesRead += chunk.byteLength;
        this.push(Buffer.from(chunk.buffer as ArrayBuffer, chunk.byteOffset, chunk.byteLength));
      },
      (error: Error) => {
        this.#isReading = false;
        if (this.#raw === raw) this.destroy(error);
      },
    );
  }

  _write(chunk: Uint8Array, _encoding: string, done: Done): void {
    const raw = this.#raw;
    if (raw === null) {
      if (this.#wasTaken || this._host !== null)
        done(Object.assign(new Error('This socket has been ended'), { code: 'EPIPE' }));
      else this.once('connect', () => this._write(chunk, _encoding, done));
      return;
    }
    this.bytesWritten += chunk.byteLength;
    this.#restart();
    raw.write(chunk).then(() => done(), done);
  }

  _writev(chunks: readonly { readonly chunk: Uint8Array }[], done: Done): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'buffer', done);
  }

  _final(done: Done): void {
    this.#raw?.end();
    done();
  }

  _destroy(error: Error | null, done: Done): void {
    clearTimeout(this.#timer);
    this.connecting = false;
    const raw = this.#raw;
    // Data written before the end is still sent.
    if (error === null && this.writableFinished) raw?.cancel();
    else raw?.destroy();
    done(error);
    setTimeout(() => this.emit('close', error !== null), 0);
  }

  destroySoon(): void {
    if (!this.writableEnded) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  resetAndDestroy(): this {
    return this.destroy();
  }

  setTimeout(milliseconds: number, listener?: Listener): this {
    if (listener !== undefined) this.once('timeout', listener);
    this.timeout = milliseconds;
    this.#restart();
    return this;
  }

  /** Restarts the idle timeout. */
  #restart(): void {
    if (this.timeout === 0 && this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer =
      this.timeout > 0 && !this.destroyed ? setTimeout(() => this.emit('timeout'), this.timeout) : undefined;
  }

  get pending(): boolean {
    return !this.#isOpen;
  }

  get readyState(): string {
    if (this.connecting) return 'opening';
    if (!this.#isOpen || this.destroyed) return 'closed';
    if (this.writableEnded) return this.readableEnded ? 'closed' : 'readOnly';
    return this.readableEnded ? 'writeOnly' : 'open';
  }

  get bufferSize(): number {
    return this.writableLength;
  }

  address(): object {
    return this.localAddress === undefined
      ? {}
      : { address: this.localAddress, port: this.localPort, family: this.remoteFamily };
  }

  /**
   * The following methods have no effect: sockets always send at once, are not probed, and do not keep an isolate
   * alive.
   */
  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
}

function abortBy(socket: NodeDuplex, signal: AbortSignal): void {
  const abort = (): void => void socket.destroy(signal.reason as Error);
  if (signal.aborted) queueMicrotask(abort);
  else signal.addEventListener('abort', abort, { once: true });
}

/** Parses the arguments `(options)`, `(port, host?)` or `(path)`, each with an optional listener. */
export function connectArguments(given: readonly unknown[]): [ConnectOptions, Listener | undefined] {
  const [first, second] = given;
  const last = given.at(-1);
  const listener = typeof last === 'function' ? (last as Listener) : undefined;
  if (typeof first === 'object' && first !== null) return [first as ConnectOptions, listener];
  if (typeof first === 'number' || /^\d+$/.test(String(first)))
    return [{ port: Number(first), ...(typeof second === 'string' ? { host: second } : {}) }, listener];
  return [{ path: String(first) }, listener];
}

/** Opens a connection. */
export function connect(...given: unknown[]): Socket {
  const [options] = connectArguments(given);
  return new Socket(options).connect(...given);
}

export { connect as createConnection, Socket as Stream };

const FOUR = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;

export const isIPv4 = (text: unknown): boolean => FOUR.test(String(text));

export function isIPv6(text: unknown): boolean {
  return URL.canParse(`http://[${String(text).replace(/%.*$/, '')}]`) && String(text).includes(':');
}

export const isIP = (text: unknown): number => (isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0);

export const getDefaultAutoSelectFamily = (): boolean => true;
export const setDefaultAutoSelectFamily = (): void => {};
export const getDefaultAutoSelectFamilyAttemptTimeout = (): number => 250;
export const setDefaultAutoSelectFamilyAttemptTimeout = (): void => {};
