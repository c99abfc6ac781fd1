// The package `ws` in a worker: its client, using WebSocket upgrades of fetch. The package's server throws an error.
// Bundled by package-stand-ins.ts.
import { Buffer } from '../node/buffer.ts';
import { EventEmitter } from '../node/events.ts';
import { impossiblePackage } from './impossible-package.ts';

type Callback = (error?: Error) => void;

/** The parts of the Web's WebSocket used here. */
interface Socket {
  binaryType: string;
  readonly bufferedAmount: number;
  readonly protocol: string;
  accept(): void;
  send(data: unknown): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: string, listener: (event: SocketEvent) => void): void;
}

interface SocketEvent {
  readonly data: string | ArrayBuffer;
  readonly code: number;
  readonly reason: string;
  readonly error?: Error;
  readonly message?: string;
}

/** The supported options of `new WebSocket(address, protocols, options)` of ws. */
interface ClientOptions {
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly origin?: string;
  readonly handshakeTimeout?: number;
}

const CONNECTING = 0;
const OPEN = 1;
const CLOSING = 2;
const CLOSED = 3;
const NO_CODE = 1005;
const ABNORMAL = 1006;

const states = { CONNECTING, OPEN, CLOSING, CLOSED };

/** ws distinguishes Web-style listeners by the events they receive. */
const webEvents: Readonly<Record<string, (...args: never[]) => object>> = {
  open: () => ({}),
  message: (data: unknown, isBinary: boolean) => ({ data: isBinary ? data : String(data) }),
  close: (code: number, reason: Uint8Array) => ({ code, reason: String(reason), wasClean: code !== ABNORMAL }),
  error: (error: Error) => ({ error, message: error.message }),
};

export class WebSocket extends EventEmitter {
  static readonly CONNECTING = CONNECTING;
  static readonly OPEN = OPEN;
  static readonly CLOSING = CLOSING;
  static readonly CLOSED = CLOSED;
  readonly url: string;
  readonly extensions = '';
  readonly isPaused = false;
  binaryType = 'nodebuffer';
  readyState: number = CONNECTING;
  #socket: Socket | null = null;
  #isTerminated = false;
  readonly #aborter = new AbortController();
  readonly #listeners = new Map<unknown, (...args: unknown[]) => void>();
  readonly #handlers = new Map<string, unknown>();

  constructor(address: string | URL, protocols?: string | readonly string[] | ClientOptions, options?: ClientOptions) {
    super();
    const named = typeof protocols === 'string' || Array.isArray(protocols);
    const given = (named || protocols === undefined ? options : (protocols as ClientOptions)) ?? {};
    const url = new URL(address);
    if (!['ws:', 'wss:', 'http:', 'https:'].includes(url.protocol) || url.hash !== '')
      throw new SyntaxError('The URL\'s protocol must be one of "ws:", "wss:", "http:", "https:", without a fragment');
    url.protocol = url.protocol.replace('http', 'ws');
    this.url = url.href;
    void this.#connect(url, named ? [protocols as string | string[]].flat() : [], given);
  }

  async #connect(url: URL, protocols: readonly string[], options: ClientOptions): Promise<void> {
    const headers = new Headers();
    for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, String(value));
    if (options.origin !== undefined) headers.set('origin', options.origin);
    if (protocols.length > 0) headers.set('sec-websocket-protocol', protocols.join(', '));
    headers.set('upgrade', 'websocket');
    const timer =
      options.handshakeTimeout === undefined
        ? undefined
        : setTimeout(() => this.#fail(new Error('Opening handshake has timed out')), options.handshakeTimeout);
    try {
      const response = (await fetch(url.href.replace(/^ws/, 'http'), {
        headers,
        signal: this.#aborter.signal,
      })) as Response & { readonly webSocket?: Socket | null };
      const socket = response.webSocket;
      if (socket) this.#opened(socket);
      else {
        await response.body?.cancel();
        this.#fail(new Error(`Unexpected server response: ${response.status}`));
      }
    } catch (error) {
      this.#fail(error as Error);
    } finally {
      clearTimeout(timer);
    }
  }

  #opened(socket: Socket): void {
    if (this.readyState !== CONNECTING) {
      socket.accept();
      return socket.close();
    }
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('message', ({ data }) => {
      const isBinary = typeof data !== 'string';
      if (this.binaryType === 'arraybuffer' && isBinary) this.emit('message', data, true);
      else this.emit('message', this.#asWished(Buffer.from(data as string), isBinary), isBinary);
    });
    socket.addEventListener('close', ({ code, reason }) =>
      // After terminate(), a close frame of the other side does not change the code.
      this.#isTerminated ? this.#ended(ABNORMAL, '') : this.#ended(code, reason),
    );
    socket.addEventListener('error', ({ error, message }) => this.emit('error', error ?? new Error(message)));
    socket.accept();
    this.readyState = OPEN;
    this.emit('open');
  }

  /** Text messages arrive as a Buffer, whatever the binary type. */
  #asWished(bytes: Buffer, isBinary: boolean): unknown {
    return this.binaryType === 'fragments' && isBinary ? [bytes] : bytes;
  }

  #fail(error: Error): void {
    if (this.readyState === CLOSED) return;
    const told =
      this.readyState === CLOSING ? new Error('WebSocket was closed before the connection was established') : error;
    this.readyState = CLOSING;
    this.#aborter.abort();
    this.emit('error', told);
    this.#ended(ABNORMAL, '');
  }

  #ended(code: number, reason: string): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    this.emit('close', code, Buffer.from(reason));
  }

  get protocol(): string {
    return this.#socket?.protocol ?? '';
  }
  get bufferedAmount(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  send(data: unknown, options?: { readonly binary?: boolean } | Callback, callback?: Callback): void {
    const done = typeof options === 'function' ? options : callback;
    if (this.readyState === CONNECTING) throw new Error('WebSocket is not open: readyState 0 (CONNECTING)');
    const closed = this.readyState !== OPEN;
    if (!closed) this.#socket!.send(sendable(data, typeof options === 'object' ? options.binary : undefined));
    const error = closed ? new Error(`WebSocket is not open: readyState ${this.readyState}`) : undefined;
    if (done) queueMicrotask(() => done(error));
  }

  close(code?: number, reason?: string | Uint8Array): void {
    if (this.readyState >= CLOSING) return;
    const opening = this.readyState === CONNECTING;
    this.readyState = CLOSING;
    if (opening) setTimeout(() => this.#fail(new Error('WebSocket was closed')), 0);
    else this.#socket!.close(code === NO_CODE ? undefined : code, reason === undefined ? undefined : String(reason));
  }

  /** Closes without waiting for the other side. */
  terminate(): void {
    if (this.readyState === CLOSED) return;
    if (this.readyState === CONNECTING) return this.close();
    if (this.readyState === OPEN) this.#socket!.close();
    this.readyState = CLOSING;
    this.#isTerminated = true;
    setTimeout(() => this.#ended(ABNORMAL, ''), 0);
  }

  /**
   * The platform itself pings silent sockets and closes those that do not reply, so `pong` is emitted at once while the
   * socket is open.
   */
  ping(data?: unknown, mask?: unknown, callback?: Callback): void {
    const done = [data, mask, callback].find((one) => typeof one === 'function') as Callback | undefined;
    const payload = Buffer.from(typeof data === 'string' ? data : '');
    queueMicrotask(() => {
      done?.();
      if (this.readyState === OPEN) this.emit('pong', payload);
    });
  }
  pong(data?: unknown, mask?: unknown, callback?: Callback): void {
    const done = [data, mask, callback].find((one) => typeof one === 'function') as Callback | undefined;
    if (done) queueMicrotask(() => done());
  }

  addEventListener(type: string, listener: unknown, options?: { readonly once?: boolean }): void {
    const make = webEvents[type];
    if (make === undefined || this.#listeners.has(listener)) return;
    const heard = (...args: unknown[]): void => {
      if (options?.once === true) this.removeEventListener(type, listener);
      const event = { type, target: this, ...make(...(args as never[])) };
      if (typeof listener === 'function') listener.call(this, event);
      else (listener as { handleEvent(event: object): void }).handleEvent(event);
    };
    this.#listeners.set(listener, heard);
    this.on(type, heard);
  }
  removeEventListener(type: string, listener: unknown): void {
    const heard = this.#listeners.get(listener);
    if (heard) this.off(type, heard);
    this.#listeners.delete(listener);
  }

  #handle(type: string, handler: unknown): void {
    const old = this.#handlers.get(type);
    if (old !== undefined) this.removeEventListener(type, old);
    // One function may handle several events.
    const own = typeof handler === 'function' ? (event: object): unknown => handler.call(this, event) : undefined;
    this.#handlers.set(type, own);
    if (own) this.addEventListener(type, own);
  }

  static {
    Object.assign(this.prototype, states);
    for (const type of Object.keys(webEvents)) {
      Object.defineProperty(this.prototype, `on${type}`, {
        get(this: WebSocket) {
          return this.#handlers.get(type) ?? null;
        },
        set(this: WebSocket, handler: unknown) {
          this.#handle(type, handler);
        },
        configurable: true,
      });
    }
  }
}

/** Bytes are sent as binary and texts as text, unless `binary` is set. */
function sendable(data: unknown, binary: boolean | undefined): unknown {
  if (typeof data === 'number') return String(data);
  if (typeof data === 'string') return binary === true ? Buffer.from(data) : data;
  return binary === false ? String(Buffer.from(data as ArrayBuffer)) : data;
}

const SERVER =
  'WebSocketServer of ws cannot run in a worker: it listens on a port of its own, and a worker is called for each request; use WebSocketPair, or a server for Node (kind: ssr)';

export const WebSocketServer = /* @__PURE__ */ impossiblePackage(SERVER);
export const createWebSocketStream = /* @__PURE__ */ impossiblePackage(
  'createWebSocketStream of ws cannot run in a worker: its stream is one of sockets of Node; use the events of WebSocket',
);
export const Receiver = /* @__PURE__ */ impossiblePackage(
  'Receiver of ws cannot run in a worker: the platform reads the frames; use WebSocket',
);
export const Sender = /* @__PURE__ */ impossiblePackage(
  'Sender of ws cannot run in a worker: the platform writes the frames; use WebSocket',
);

Object.assign(WebSocket, {
  WebSocket,
  WebSocketServer,
  Server: WebSocketServer,
  createWebSocketStream,
  Receiver,
  Sender,
});

export { WebSocket as default, WebSocket as 'module.exports' };
