// Calls over HTTP to the platform process with the bindings: `PLATFORM_MOCK_SERVER_URL` with
// `PLATFORM_MOCK_SERVER_TOKEN`. Bodies are streamed both ways. Node's modules are loaded on demand, so that bundlers
// for other targets can include this file.
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { linesOf } from './lines.ts';
import { encode, revive, toError, type RawBody, type Revivers } from './values.ts';

/** Address of the bindings. */
export interface Address {
  /** `http://127.0.0.1:4000`, or `unix:/path` of a socket. */
  readonly url: string;
  readonly token: string;
}

/** A method of a binding, and calls on its result. */
export interface Call {
  readonly method: string;
  readonly args: readonly unknown[];
  readonly next?: readonly { readonly method: string; readonly args?: readonly unknown[] }[];
}

interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly rawBody?: boolean;
}

/** Description of the bindings. */
export interface Description {
  /** Name -> kind. */
  readonly bindings: Readonly<Record<string, string>>;
  readonly vars: Readonly<Record<string, string>>;
}

/** The answer to a call. */
export interface Answer {
  readonly result: unknown;
  /** The position of a database session, after a call in such a session. */
  readonly bookmark?: string | null;
  /** Kind of the response's body, if any. */
  readonly body?: 'stream' | 'bytes';
}

/** An open transaction, with the calls that it accepts until it ends. */
export interface OpenTransaction {
  call(call: Call): Promise<unknown>;
  commit(): Promise<void>;
  /** Resolves when the rollback has fully ended. */
  rollback(): Promise<void>;
}

const HEADER_BYTES_MAX = 100_000;
/** The limit is high because the headers and metadata of a file are sent as headers of a response. */
const ANSWER_HEADER_BYTES_MAX = 65_536;

const http = (): typeof import('node:http') => process.getBuiltinModule('node:http');
const stream = (): typeof import('node:stream') => process.getBuiltinModule('node:stream');

/** Connections to one address. */
export class Connection {
  readonly #target: RequestOptions;
  readonly #token: string;
  readonly #url: string;
  readonly #revivers: Revivers;

  constructor({ url, token }: Address, revivers: Revivers) {
    this.#url = url;
    this.#token = token;
    this.#revivers = revivers;
    const agent = new (http().Agent)({ keepAlive: true });
    if (url.startsWith('unix:')) {
      this.#target = { socketPath: url.slice('unix:'.length), host: 'localhost', agent };
      return;
    }
    if (!URL.canParse(url) || !url.startsWith('http://'))
      throw new TypeError(`PLATFORM_MOCK_SERVER_URL must begin with http:// or unix:, not ${url}`);
    const parsed = new URL(url);
    this.#target = { host: parsed.hostname.replace(/^\[|\]$/g, ''), port: parsed.port || 80, agent };
  }

  async describe(): Promise<Description> {
    return (await this.#read(await this.#send('GET', {}, null))) as Description;
  }

  /** @param options `rawBody: false` sends bytes as part of the JSON. `signal` ends the call. */
  async call(binding: string, call: Call, options: CallOptions = {}): Promise<Answer> {
    const { signal, rawBody = true } = options;
    const raw: RawBody = { body: null };
    const encoded = encodeCall({ binding }, call, rawBody ? raw : null);
    const text = JSON.stringify(raw.body instanceof Uint8Array ? { ...encoded, bytes: true } : encoded);
    const accept = 'application/octet-stream, application/json';
    const sent =
      raw.body === null
        ? this.#send('POST', { accept, 'content-type': 'application/json' }, text, signal)
        : this.#send(
            'POST',
            { accept, 'content-type': 'application/octet-stream', 'x-platform-call': toHeader(text) },
            raw.body,
            signal,
          );
    const response = await sent;
    const header = response.headers['x-platform-result'];
    if (typeof header !== 'string') {
      const answer = (await this.#read(response)) as Answer;
      return { ...answer, result: revive(answer.result, null, this.#revivers) };
    }
    const answer = JSON.parse(Buffer.from(header, 'base64url').toString()) as Answer;
    const body = answer.body === 'stream' ? stream().Readable.toWeb(response) : exact(await readAll(response));
    return { ...answer, result: revive(answer.result, body, this.#revivers) };
  }

  /** Begins a transaction, which lasts as long as its request. */
  async transaction(binding: string): Promise<OpenTransaction> {
    const head = toHeader(JSON.stringify({ binding, transaction: true }));
    const request = this.#request('POST', { 'content-type': 'application/x-ndjson', 'x-platform-call': head });
    request.flushHeaders();
    const response = await this.#response(request);
    if (response.headers['content-type'] !== 'application/x-ndjson') {
      request.destroy();
      await this.#read(response);
    }
    return TransactionCalls.begin(request, response, this.#revivers);
  }

  #request(method: string, headers: Readonly<Record<string, string>>): ClientRequest {
    return http().request({
      ...this.#target,
      path: '/rpc',
      method,
      headers: { ...headers, authorization: `Bearer ${this.#token}` },
      maxHeaderSize: ANSWER_HEADER_BYTES_MAX,
    });
  }

  #response(request: ClientRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      request.once('response', resolve);
      // This listener stays, because a later connection error would otherwise have no listener.
      request.on('error', (error: NodeJS.ErrnoException) => reject(this.#explained(error)));
    });
  }

  /** A connection that the other side closed while idle is not a failure: the call is sent over another connection. */
  async #send(
    method: string,
    headers: Readonly<Record<string, string>>,
    body: string | Uint8Array | ReadableStream<Uint8Array> | null,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    signal?.throwIfAborted();
    const isStream = body instanceof ReadableStream;
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const length: Record<string, string> =
      isStream || bytes === null ? {} : { 'content-length': String((bytes as Uint8Array).byteLength) };
    const request = this.#request(method, { ...headers, ...length });
    const response = this.#response(request);
    const onAbort = (): void => void request.destroy(signal!.reason as Error);
    signal?.addEventListener('abort', onAbort, { once: true });
    request.once('close', () => signal?.removeEventListener('abort', onAbort));
    if (isStream) {
      const source = stream().Readable.fromWeb(body as never);
      source.once('error', (error) =>
        request.destroy(new TypeError(`The body failed: ${error.message}`, { cause: error })),
      );
      // If the call is refused before the stream is read, the rest of the stream is not needed.
      request.once('close', () => void source.destroy());
      source.pipe(request);
    } else request.end(bytes as Uint8Array | null);
    try {
      return await response;
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      const isStale =
        request.reusedSocket && /^(?:ECONNRESET|EPIPE)$/.test(String((error as Error & { code?: string }).code));
      if (!isStale || isStream) throw error;
      return this.#send(method, headers, body, signal);
    }
  }

  #explained(error: NodeJS.ErrnoException): Error {
    if (!/^(?:ECONNREFUSED|ENOENT)$/.test(String(error.code))) return error;
    const text = `There is no platform at ${this.#url} (PLATFORM_MOCK_SERVER_URL): is \`platform dev\` still running?`;
    return Object.assign(new Error(text, { cause: error }), { code: error.code });
  }

  /** The JSON of a response. @throws the error that the response contains. */
  async #read(response: IncomingMessage): Promise<unknown> {
    const text = (await readAll(response)).toString();
    let answer: { error?: unknown; code?: string };
    try {
      answer = JSON.parse(text) as typeof answer;
    } catch {
      throw new Error(`The platform answered ${response.statusCode}: ${text.slice(0, 500)}`);
    }
    if (response.statusCode === 200 && answer.error === undefined) return answer;
    // Refusals of the platform contain a text in addition to the code.
    if (typeof answer.error === 'string') throw toError({ name: 'Error', message: answer.error, code: answer.code });
    throw toError(answer.error);
  }
}

/** Calls on a transaction, one per line, answered by a line with the same id. */
class TransactionCalls implements OpenTransaction {
  readonly #request: ClientRequest;
  readonly #revivers: Revivers;
  readonly #waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  readonly #begun = deferred();
  readonly #over = deferred();
  #ending: 'it was committed' | 'its commit failed' | 'it was rolled back' | null = null;
  #last = 0;

  private constructor(request: ClientRequest, response: IncomingMessage, revivers: Revivers) {
    this.#request = request;
    this.#revivers = revivers;
    this.#over.promise.catch(() => {});
    void this.#listen(response);
  }

  static async begin(request: ClientRequest, response: IncomingMessage, revivers: Revivers): Promise<OpenTransaction> {
    const calls = new TransactionCalls(request, response, revivers);
    await calls.#begun.promise;
    return calls;
  }

  call(call: Call): Promise<unknown> {
    if (this.#ending !== null)
      return Promise.reject(
        toError({
          name: 'Error',
          message: `D1_ERROR: the transaction has ended: ${this.#ending}: SQLITE_ABORT`,
          code: 'SQLITE_ABORT',
        }),
      );
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#request.write(`${JSON.stringify(encodeCall({ id }, call, null))}\n`);
    });
  }

  async commit(): Promise<void> {
    this.#ending = 'it was committed';
    this.#request.end('{"commit":true}\n');
    await this.#over.promise.catch((error: unknown) => {
      this.#ending = 'its commit failed';
      throw error;
    });
  }

  async rollback(): Promise<void> {
    this.#ending = 'it was rolled back';
    this.#request.end();
    await this.#over.promise.catch(() => {});
  }

  async #listen(response: IncomingMessage): Promise<void> {
    let failure: Error = new Error('The connection to the platform ended within a transaction, which was rolled back');
    try {
      response.setEncoding('utf8');
      for await (const line of linesOf(response as AsyncIterable<string>)) {
        const said = JSON.parse(line) as Record<string, unknown>;
        const waiting = this.#waiting.get(Number(said['id']));
        this.#waiting.delete(Number(said['id']));
        if (said['begun'] === true) this.#begun.resolve();
        else if (said['committed'] === true) this.#over.resolve();
        else if (waiting === undefined) failure = toError(said['error']);
        else if (said['error'] === undefined) waiting.resolve(revive(said['result'], null, this.#revivers));
        else waiting.reject(toError(said['error']));
      }
    } catch (error) {
      failure = error as Error;
    }
    this.#begun.reject(failure);
    this.#over.reject(failure);
    for (const { reject } of this.#waiting.values()) reject(failure);
    this.#waiting.clear();
  }
}

function encodeCall(head: object, { method, args, next = [] }: Call, raw: RawBody | null): object {
  const list = (values: readonly unknown[] | undefined): unknown[] => (values ?? []).map((value) => encode(value, raw));
  return {
    ...head,
    method,
    args: list(args),
    next: next.map((call) => ({ method: call.method, args: list(call.args) })),
  };
}

function toHeader(text: string): string {
  const header = Buffer.from(text).toString('base64url');
  if (header.length > HEADER_BYTES_MAX)
    throw new RangeError(`What goes with the bytes has ${header.length} bytes, and may have ${HEADER_BYTES_MAX}`);
  return header;
}

async function readAll(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Copies the bytes into an ArrayBuffer of their own, because a Buffer of Node is a part of a larger ArrayBuffer. */
function exact(bytes: Buffer): ArrayBuffer {
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
}

interface Deferred {
  readonly promise: Promise<void>;
  resolve(): void;
  reject(error: Error): void;
}

function deferred(): Deferred {
  let resolve!: () => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<void>((fulfil, refuse) => {
    resolve = fulfil;
    reject = refuse;
  });
  return { promise, resolve, reject };
}
