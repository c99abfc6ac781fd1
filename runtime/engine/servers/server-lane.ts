// The lane for requests of an ssr deployment. They go to its server, a process next to the engine, which is acquired
// with the first request and held while there are requests. Made by lanes.ts. The invocations that the lane reports end
// in serving/invocation-ends.ts.
import { connect } from 'node:net';
import { PlatformError } from '#core/errors.ts';
import type { Limits } from '#core/limits.ts';
import type { ServerSpec } from '#core/ssr/protocol.ts';
import type { Exchange } from '../http/listener.ts';
import type { HttpInvocation } from '../invocation/invocation.ts';
import { failed, isFailureCode, ok, type Outcome } from '../invocation/outcome.ts';
import type { LogLine } from '../invocation/log.ts';
import { ProxiedRequest } from './proxied-request.ts';
import { openProxiedSocket, type ProxiedSocket } from './proxied-socket.ts';
import { ServerConnector } from './server-connector.ts';
import type { ServerLink, ServerListener } from './server-link.ts';

/** Dependencies. */
interface ServerLaneDeps {
  readonly link: ServerLink;
  readonly spec: ServerSpec;
  readonly limits: Limits;
  /** Scheme that visitors use. */
  readonly protocol: 'http' | 'https';
  /** Returns the headers with the client's true address. */
  readonly clientHeaders: (headerBlock: string, remoteAddress: string) => string;
}

/** How long a server is held after its last request, so that it is not acquired for each request. */
const HELD_MS = 1000;
/** How many times a request that no server received is sent again. */
const ATTEMPTS = 3;

interface Running {
  readonly invocation: HttpInvocation;
  abort(): void;
  /** Set if the response is an open WebSocket. */
  socket: ProxiedSocket | null;
}

/** The deployment to which the server belongs. */
interface ServerOwner {
  log(level: LogLine['level'], text: string, invocation: null): void;
  readonly ends: { end(invocation: HttpInvocation, outcome: Outcome): void };
}

export class ServerLane implements ServerListener {
  #deployment: ServerOwner;
  #deps: ServerLaneDeps;
  #running = new Set<Running>();
  #connector: Promise<ServerConnector> | null = null;
  #opened: ServerConnector | null = null;
  /** Connections that requests still use after their server has exited. */
  #left = new Set<ServerConnector>();
  lastUsedAt = 0;

  constructor(deployment: ServerOwner, deps: ServerLaneDeps) {
    this.#deployment = deployment;
    this.#deps = deps;
  }

  /** Number of running requests and open WebSockets. */
  get load(): number {
    return this.#running.size;
  }

  /** Number of requests, except those whose response is an open WebSocket. */
  get busy(): number {
    let busy = 0;
    for (const { socket } of this.#running) if (socket === null) busy++;
    return busy;
  }

  serve(invocation: HttpInvocation): void {
    const running: Running = { invocation, abort: () => {}, socket: null };
    this.#running.add(running);
    const onAbort = (): void => this.#end(running, failed('client_gone'));
    invocation.answer.onAbort = onAbort;
    void this.#send(running, ATTEMPTS);
  }

  /** Checks whether the deployment's server starts. */
  async start(): Promise<Outcome> {
    try {
      await this.#open();
      this.lastUsedAt = performance.now();
      return ok;
    } catch (error) {
      return outcomeOf(error);
    }
  }

  line(level: 'info' | 'error', text: string): void {
    this.#deployment.log(level, text, null);
  }

  ended(socket: string): void {
    if (this.#opened !== null && (socket === '' || this.#opened.socket === socket)) this.#drop();
  }

  /** Called about once a second. */
  checkWall(now: number): void {
    const limitMs = this.#deps.limits.wallMs;
    for (const running of this.#running)
      if (running.socket === null && now - running.invocation.wallFrom >= limitMs)
        this.#end(running, failed('wall_limit_exceeded', { limitMs }));
    if (this.#running.size > 0 || this.#opened === null || now - this.lastUsedAt < HELD_MS) return;
    this.#drop();
    this.#deps.link.release(this.#deps.spec.key);
  }

  closeSockets(code: number, reason: string): void {
    for (const { socket } of this.#running) socket?.close(code, reason);
  }

  close(): void {
    for (const running of this.#running) this.#end(running, failed('draining'));
    if (this.#connector !== null) this.#deps.link.release(this.#deps.spec.key);
    this.#drop();
    this.#deps.link.forget(this.#deps.spec.key, this);
  }

  #open(): Promise<ServerConnector> {
    this.#connector ??= this.#acquire();
    return this.#connector;
  }

  async #acquire(): Promise<ServerConnector> {
    const { link, spec } = this.#deps;
    try {
      const socket = await link.acquire(spec, this);
      try {
        this.#opened = new ServerConnector(socket);
      } catch (error) {
        link.lost(spec.key, socket);
        throw error;
      }
      return this.#opened;
    } catch (error) {
      this.#connector = null;
      throw error;
    }
  }

  /** Forgets the server, so that the next request acquires one again. */
  #drop(): void {
    if (this.#opened !== null) this.#left.add(this.#opened);
    this.#opened = null;
    this.#connector = null;
    this.#closeLeft();
  }

  #closeLeft(): void {
    if (this.#running.size > 0) return;
    for (const connector of this.#left) connector.close();
    this.#left.clear();
  }

  async #send(running: Running, attempts: number): Promise<void> {
    const { invocation } = running;
    const exchange = invocation.answer;
    let connector: ServerConnector;
    try {
      connector = await this.#open();
    } catch (error) {
      this.#end(running, outcomeOf(error));
      return;
    }
    if (!this.#running.has(running)) return;
    invocation.phase = 'running';
    const failure = (error: NodeJS.ErrnoException, untouched: boolean): void => {
      if (untouched) this.#lost(connector);
      if (untouched && attempts > 1) void this.#send(running, attempts - 1);
      else this.#end(running, lostOutcome(error));
    };
    const headers = this.#headers(exchange);
    if (exchange.header('upgrade') === null || exchange.method !== 'GET') {
      const proxied = new ProxiedRequest(connector, exchange, headers, {
        begun(status) {
          invocation.status = status;
          invocation.phase = 'answered';
          invocation.firstByteAt = performance.now();
        },
        done: () => this.#end(running, ok),
        failed: failure,
      });
      running.abort = () => proxied.abort();
      return;
    }
    const target = { url: `ws://server${exchange.target}`, connect: () => connect(connector.path) };
    try {
      const socket = await openProxiedSocket(target, exchange, headers, this.#deps.limits.webSocketMessageBytesMax, {
        opened() {
          invocation.status = 101;
          invocation.phase = 'answered';
          invocation.firstByteAt = performance.now();
          running.socket = socket;
        },
        refused(status) {
          invocation.status = status;
          invocation.phase = 'answered';
        },
        done: () => this.#end(running, ok),
        failed: (error) => failure(error, error.code === 'ECONNREFUSED' || error.code === 'ENOENT'),
      });
      running.abort = () => socket.cut();
      if (!this.#running.has(running)) socket.cut();
    } catch (error) {
      failure(error as Error, false);
    }
  }

  #lost(connector: ServerConnector): void {
    if (this.#opened !== connector) return;
    this.#deps.link.lost(this.#deps.spec.key, connector.socket);
    this.#drop();
  }

  /** The request headers for the server. */
  #headers(exchange: Exchange): string[] {
    const { clientHeaders, protocol } = this.#deps;
    const fields = clientHeaders(exchange.headerBlock, exchange.remoteAddress).split('\0');
    const headers: string[] = [];
    const seen = new Set<string>();
    for (let at = 0; at + 1 < fields.length; at += 2) {
      headers.push(fields[at]!, fields[at + 1]!);
      seen.add(fields[at]!);
    }
    for (const [name, value] of [
      ['host', exchange.host],
      ['x-forwarded-host', exchange.host],
      ['x-forwarded-proto', protocol],
    ] as const)
      if (!seen.has(name)) headers.push(name, value);
    return headers;
  }

  #end(running: Running, outcome: Outcome): void {
    if (!this.#running.delete(running)) return;
    this.lastUsedAt = performance.now();
    if (outcome.kind === 'failed') running.abort();
    this.#deployment.ends.end(running.invocation, outcome);
    this.#closeLeft();
  }
}

function outcomeOf(error: unknown): Outcome & { kind: 'failed' } {
  if (error instanceof PlatformError && isFailureCode(error.code)) return failed(error.code, error.details);
  return failed('server_unavailable', { reason: (error as Error).message });
}

function lostOutcome(error: Error): Outcome & { kind: 'failed' } {
  if (error instanceof PlatformError && isFailureCode(error.code)) return failed(error.code, error.details);
  return failed('server_lost', { reason: error.message });
}
