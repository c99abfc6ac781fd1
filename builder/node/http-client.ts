// http.request and https.request of Node as streams over `fetch`, with the permissions and limits of fetch. Agents are
// accepted but ignored: the host manages connections. Bundled into workers by node-compat.ts.
import { Buffer } from './buffer.ts';
import { Readable as ReadableBase, Writable as WritableBase } from './stream.ts';

type Done = (error?: Error | null) => void;
type Listener = (...args: never[]) => void;

interface NodeStream {
  on(name: string, listener: Listener): this;
  once(name: string, listener: Listener): this;
  emit(name: string, ...args: unknown[]): boolean;
  destroy(error?: Error): this;
  destroyed: boolean;
}
interface NodeReadable extends NodeStream {
  push(chunk: Uint8Array | null): boolean;
}
interface NodeWritable extends NodeStream {
  end(...args: unknown[]): this;
}
const Readable = ReadableBase as new (options?: object) => NodeReadable;
const Writable = WritableBase as new (options?: object) => NodeWritable;

/** Options of a request that have a counterpart in fetch. */
export interface RequestOptions {
  readonly protocol?: string;
  readonly host?: string;
  readonly hostname?: string;
  readonly port?: number | string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, unknown>> | readonly string[];
  readonly auth?: string;
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  readonly href?: string;
}

/** A response in Node's format. */
export class IncomingMessage extends Readable {
  readonly statusCode: number;
  readonly statusMessage: string;
  readonly headers: Record<string, string | string[]> = {};
  readonly rawHeaders: string[] = [];
  readonly headersDistinct: Record<string, string[]> = {};
  readonly trailers = {};
  readonly httpVersion = '1.1';
  readonly url = '';
  readonly socket = null;
  complete = false;
  readonly #onChunk: () => void;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | null;

  /** @param onChunk called whenever data has arrived */
  constructor(response: Response, onChunk: () => void) {
    super();
    this.#onChunk = onChunk;
    this.statusCode = response.status;
    this.statusMessage = response.statusText;
    this.#reader = (response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined) ?? null;
    for (const [name, value] of response.headers as unknown as Iterable<[string, string]>) {
      this.rawHeaders.push(name, value);
      (this.headersDistinct[name] ??= []).push(value);
      // Cookies are read one by one; fetch has joined all other repeated headers.
      this.headers[name] = name === 'set-cookie' ? this.headersDistinct[name]! : value;
    }
  }

  _read(): void {
    if (this.#reader === null) {
      this.complete = true;
      this.push(null);
      return;
    }
    this.#reader.read().then(
      ({ done, value }) => {
        this.complete = done;
        this.#onChunk();
        this.push(done ? null : Buffer.from(value as Uint8Array));
      },
      (error: Error) => this.destroy(error),
    );
  }

  _destroy(error: Error | null, done: Done): void {
    if (!this.complete) this.#reader?.cancel(error ?? undefined).catch(() => {});
    done(error);
  }

  setTimeout(): this {
    return this;
  }
}

function urlOf(given: RequestOptions, protocol: string): string {
  if (given.href !== undefined && given.hostname === undefined) return given.href;
  const scheme = given.protocol ?? protocol;
  const host = given.hostname ?? given.host ?? 'localhost';
  const bare = host.includes(':') && !host.startsWith('[') && /^[\da-f:.]+$/i.test(host) ? `[${host}]` : host;
  const port = given.port === undefined || given.port === '' || /:\d+$/.test(bare) ? '' : `:${given.port}`;
  return new URL(given.path ?? '/', `${scheme}//${bare}${port}`).href;
}

/** A request that is sent when `end` is called. */
export class ClientRequest extends Writable {
  readonly method: string;
  readonly path: string;
  readonly protocol: string;
  readonly host: string;
  aborted = false;
  reusedSocket = false;
  headersSent = false;
  readonly socket = null;
  readonly #url: string;
  readonly #headers = new Map<string, [string, unknown]>();
  readonly #chunks: Uint8Array[] = [];
  readonly #abort = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #idleMs = 0;

  constructor(options: RequestOptions, protocol: string, callback?: (response: IncomingMessage) => void) {
    // The request was sent, but the response is still pending.
    super({ autoDestroy: false });
    const url = new URL(urlOf(options, protocol));
    this.#url = url.href;
    this.method = (options.method ?? 'GET').toUpperCase();
    this.path = url.pathname + url.search;
    this.protocol = url.protocol;
    this.host = url.hostname;
    const { headers = {} } = options;
    if (Array.isArray(headers))
      for (let at = 0; at < headers.length; at += 2) this.setHeader(String(headers[at]), headers[at + 1]);
    else for (const [name, value] of Object.entries(headers)) if (value !== undefined) this.setHeader(name, value);
    if (options.auth !== undefined && !this.#headers.has('authorization'))
      this.setHeader('authorization', `Basic ${Buffer.from(options.auth).toString('base64')}`);
    if (options.timeout !== undefined) this.setTimeout(options.timeout);
    if (callback !== undefined) this.once('response', callback);
    const { signal } = options;
    if (signal?.aborted === true) queueMicrotask(() => this.destroy(signal.reason as Error));
    else signal?.addEventListener('abort', () => this.destroy(signal.reason as Error), { once: true });
  }

  setHeader(name: string, value: unknown): this {
    this.#headers.set(name.toLowerCase(), [name, value]);
    return this;
  }

  getHeader(name: string): unknown {
    return this.#headers.get(name.toLowerCase())?.[1];
  }

  hasHeader(name: string): boolean {
    return this.#headers.has(name.toLowerCase());
  }

  removeHeader(name: string): void {
    this.#headers.delete(name.toLowerCase());
  }

  getHeaders(): Record<string, unknown> {
    return Object.fromEntries([...this.#headers].map(([name, [, value]]) => [name, value]));
  }

  getHeaderNames(): string[] {
    return [...this.#headers.keys()];
  }

  setTimeout(milliseconds: number, listener?: () => void): this {
    if (listener !== undefined) this.once('timeout', listener);
    this.#idleMs = milliseconds;
    this.#restart();
    return this;
  }

  /** Restarts the idle timeout. */
  #restart(): void {
    clearTimeout(this.#timer);
    if (this.#idleMs > 0 && !this.destroyed) this.#timer = setTimeout(() => this.emit('timeout'), this.#idleMs);
  }

  flushHeaders(): void {}
  setNoDelay(): void {}
  setSocketKeepAlive(): void {}

  abort(): void {
    this.aborted = true;
    this.destroy();
  }

  _write(chunk: Uint8Array, _encoding: string, done: Done): void {
    this.#chunks.push(chunk);
    done();
  }

  _final(done: Done): void {
    done();
    this.headersSent = true;
    this.#send().then(
      (response) => {
        this.#restart();
        const message = new IncomingMessage(response, () => this.#restart());
        message.once('close', () => this.destroy());
        // As in Node, a response without a listener is read and discarded.
        if (!this.emit('response', message)) (message as unknown as { resume(): void }).resume();
      },
      (error: Error) => {
        if (!this.destroyed) this.destroy(error);
      },
    );
  }

  #send(): Promise<Response> {
    const headers = new Headers();
    for (const [, [name, value]] of this.#headers) {
      // The host sets these headers for its own connection.
      if (/^(?:host|connection|keep-alive|transfer-encoding|content-length|expect|upgrade)$/i.test(name)) continue;
      for (const item of Array.isArray(value) ? value : [value]) headers.append(name, String(item));
    }
    const body =
      this.#chunks.length === 0 || this.method === 'GET' || this.method === 'HEAD'
        ? null
        : (Buffer.concat(this.#chunks) as Uint8Array<ArrayBuffer>);
    return fetch(this.#url, { method: this.method, headers, body, redirect: 'manual', signal: this.#abort.signal });
  }

  _destroy(error: Error | null, done: Done): void {
    clearTimeout(this.#timer);
    this.#abort.abort();
    done(error);
  }
}

type Callback = (response: IncomingMessage) => void;
type RequestArguments = [url: string | URL | RequestOptions, options?: RequestOptions | Callback, callback?: Callback];

/** `request` of http or https: `(options)`, `(url)`, `(url, options)`, each with an optional callback. */
export function requestOver(protocol: string): (...args: RequestArguments) => ClientRequest {
  return (first, second, third) => {
    const callback = typeof second === 'function' ? second : third;
    const more = typeof second === 'function' ? {} : (second ?? {});
    const base = typeof first === 'string' || first instanceof URL ? fromUrl(new URL(first)) : first;
    return new ClientRequest({ ...base, ...more }, protocol, callback);
  };
}

function fromUrl(url: URL): RequestOptions {
  const auth =
    url.username === '' ? {} : { auth: `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}` };
  return { protocol: url.protocol, hostname: url.hostname, port: url.port, path: url.pathname + url.search, ...auth };
}

/** `get`: a request without a body, ended immediately. */
export function getOver(protocol: string): (...args: RequestArguments) => ClientRequest {
  const request = requestOver(protocol);
  return (...args) => request(...args).end();
}
