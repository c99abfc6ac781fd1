// One request proxied to a server, and its response, as streams with back-pressure in both directions. Created by
// server-lane.ts, which decides about the invocation.
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Exchange } from '../http/listener.ts';
import type { ServerConnector } from './server-connector.ts';

/** Events of the proxied request. */
interface ProxyEvents {
  /** Called when the status and headers of the response were sent. */
  begun(status: number): void;
  done(): void;
  /**
   * Called when the server cut the response, or sent an invalid response.
   *
   * @param untouched whether the server has not received the request, which may then be sent again.
   */
  failed(error: NodeJS.ErrnoException, untouched: boolean): void;
}

const BODILESS = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE', 'TRACE']);
/** Error codes of a connection that could not be opened. */
const NOT_CONNECTED = new Set(['ECONNREFUSED', 'ENOENT']);

export class ProxiedRequest {
  #exchange: Exchange;
  #events: ProxyEvents;
  #request: ClientRequest;
  #response: IncomingMessage | null = null;
  #isConnected = false;
  #isOver = false;

  /** @param headers names and values, alternating */
  constructor(connector: ServerConnector, exchange: Exchange, headers: readonly string[], events: ProxyEvents) {
    this.#exchange = exchange;
    this.#events = events;
    const { request } = process.getBuiltinModule('node:http');
    const { method, target, bodyBytes } = exchange;
    this.#request = request({
      socketPath: connector.path,
      agent: connector.agent,
      method,
      path: target,
      headers: [...headers, ...framing(method, bodyBytes, headers)] as never,
      setHost: false,
    });
    this.#request.once('socket', (socket) => {
      const pump = (): void => {
        this.#isConnected = true;
        this.#sendBody();
      };
      if (socket.connecting) socket.once('connect', pump);
      else pump();
    });
    this.#request.once('response', (response) => this.#respond(response));
    this.#request.on('error', (error: NodeJS.ErrnoException) => this.#fail(error));
    // A response that requests another protocol ends the request without an error.
    this.#request.once('close', () => this.#response === null && this.#fail(new Error('it ended without a response')));
  }

  /** Called when the client has disconnected. */
  abort(): void {
    this.#isOver = true;
    this.#request.destroy();
  }

  #sendBody(): void {
    const request = this.#request;
    const exchange = this.#exchange;
    if (this.#isOver) return;
    if (exchange.bodyBytes === 0) {
      request.end();
      return;
    }
    request.on('drain', () => exchange.resumeBody());
    exchange.readBody({
      chunk: (bytes) => this.#isOver || request.write(bytes),
      end: () => void request.end(),
    });
  }

  #respond(response: IncomingMessage): void {
    if (this.#isOver) return;
    this.#response = response;
    const exchange = this.#exchange;
    const status = response.statusCode ?? 502;
    response.once('aborted', () => this.#fail(new Error('it ended in the middle of a response')));
    response.once('error', (error) => this.#fail(error));
    try {
      if (status === 204 || status === 304) exchange.send(status, blockOf(response.rawHeaders), null);
      else exchange.begin(status, blockOf(response.rawHeaders));
    } catch (error) {
      this.#request.destroy();
      this.#fail(error as Error);
      return;
    }
    this.#events.begun(status);
    const onDrain = (): void => void response.resume();
    exchange.onDrain = onDrain;
    response.on('data', (chunk: Buffer) => {
      if (!this.#isOver && !exchange.write(chunk)) response.pause();
    });
    response.once('end', () => {
      if (this.#isOver) return;
      this.#isOver = true;
      if (status !== 204 && status !== 304) exchange.end();
      this.#events.done();
    });
  }

  #fail(error: NodeJS.ErrnoException): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const untouched = this.#response === null && !this.#isConnected && NOT_CONNECTED.has(error.code ?? '');
    this.#request.destroy();
    this.#events.failed(error, untouched);
  }
}

/** The framing of a body that the client's headers do not declare. */
function framing(method: string, bodyBytes: number, headers: readonly string[]): string[] {
  if (bodyBytes < 0) return ['transfer-encoding', 'chunked'];
  if (headers.some((name, at) => at % 2 === 0 && name === 'content-length')) return [];
  return bodyBytes === 0 && BODILESS.has(method) ? [] : ['content-length', String(bodyBytes)];
}

/** Converts headers to the format of a listener. */
export function blockOf(rawHeaders: readonly string[]): string {
  let block = '';
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    block += `${rawHeaders[at]!.toLowerCase()}\0${rawHeaders[at + 1]}\0`;
  return block;
}
