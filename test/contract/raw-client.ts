// An HTTP/1.1 client on a bare socket for the listener suites: sends exactly the bytes given, reads responses one by
// one with their framing checked. Not a general client: whatever a response does not say by the book is an error here.
import { connect, type Socket } from 'node:net';

export interface RawResponse {
  readonly status: number;
  /** Names in lower case, arrival order. */
  readonly headers: readonly (readonly [string, string])[];
  /** Latin-1. */
  readonly body: string;
  readonly framing: 'length' | 'chunked' | 'close' | 'none';
  /** All values of a header. */
  all(name: string): string[];
}

export class RawClient {
  readonly socket: Socket;
  /** Resolves when the connection is closed, for whatever reason. */
  readonly closed: Promise<void>;
  #buffer = '';
  #ended = false;
  #wake: (() => void) | null = null;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (bytes) => {
      this.#buffer += bytes.toString('latin1');
      this.#wake?.();
    });
    socket.on('error', () => {});
    const finish = (): void => {
      this.#ended = true;
      this.#wake?.();
    };
    socket.on('end', finish);
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        finish();
        resolve();
      });
    });
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** What arrived and was not read as a response yet. */
  get unread(): string {
    return this.#buffer;
  }

  /** The next response (also a 1xx one). */
  async response(requestMethod = 'GET'): Promise<RawResponse> {
    const head = await this.#through('\r\n\r\n');
    const [statusLine, ...lines] = head.slice(0, -4).split('\r\n');
    const match = /^HTTP\/1\.1 (\d{3}) /.exec(statusLine!);
    if (match === null) throw new Error(`no status line: ${JSON.stringify(statusLine)}`);
    const status = Number(match[1]);
    const headers = lines.map((line) => {
      const colon = line.indexOf(':');
      if (colon < 1) throw new Error(`no header: ${JSON.stringify(line)}`);
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    });
    const all = (name: string): string[] => headers.filter(([key]) => key === name).map(([, value]) => value);
    const length = all('content-length');
    const chunked = all('transfer-encoding').length > 0;
    if (length.length + Number(chunked) > 1) throw new Error('framed twice');
    if (requestMethod === 'HEAD' || status < 200 || status === 204 || status === 304)
      return { status, headers, body: '', framing: 'none', all };
    if (chunked) return { status, headers, body: await this.#chunks(), framing: 'chunked', all };
    if (length.length === 1)
      return { status, headers, body: await this.#take(Number(length[0])), framing: 'length', all };
    return { status, headers, body: await this.#rest(), framing: 'close', all };
  }

  /** Everything up to and including `mark`, and takes it. */
  async #through(mark: string): Promise<string> {
    for (;;) {
      const at = this.#buffer.indexOf(mark);
      if (at >= 0) return this.#cut(at + mark.length);
      await this.#more();
    }
  }

  async #take(count: number): Promise<string> {
    while (this.#buffer.length < count) await this.#more();
    return this.#cut(count);
  }

  async #rest(): Promise<string> {
    while (!this.#ended) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#cut(this.#buffer.length);
  }

  async #chunks(): Promise<string> {
    const parts: string[] = [];
    for (;;) {
      const line = await this.#through('\r\n');
      if (!/^[0-9a-f]+\r\n$/i.test(line)) throw new Error(`no chunk size: ${JSON.stringify(line)}`);
      const size = Number.parseInt(line, 16);
      const chunk = await this.#take(size + 2);
      if (!chunk.endsWith('\r\n')) throw new Error('chunk not ended');
      if (size === 0) return parts.join('');
      parts.push(chunk.slice(0, -2));
    }
  }

  #cut(count: number): string {
    const text = this.#buffer.slice(0, count);
    this.#buffer = this.#buffer.slice(count);
    return text;
  }

  async #more(): Promise<void> {
    if (this.#ended) throw new Error(`connection ended with ${JSON.stringify(this.#buffer.slice(0, 200))} unread`);
    await new Promise<void>((resolve) => (this.#wake = resolve));
  }
}

/** Connects to a port of this machine. */
/** @param from address and port of this end; the system's choice otherwise. */
export function connectRaw(
  port: number,
  from: { readonly localAddress?: string; readonly localPort?: number } = {},
): Promise<RawClient> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', ...from });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.removeListener('error', reject);
      resolve(new RawClient(socket));
    });
  });
}
