// An engine's connection to the process that runs servers of ssr projects (runtime/ssr/): opened for the first
// server, and reopened after a failure. Used by server-lane.ts; independent of requests.
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { PlatformError } from '#core/errors.ts';
import { readLines, type FromEngine, type ServerSpec, type ToEngine } from '#core/ssr/protocol.ts';

/** The user of a server. */
export interface ServerListener {
  /** Called with a line that the server wrote, or that is about the server. */
  line(level: 'info' | 'error', text: string): void;
  /** Called when the server no longer responds. */
  ended(socket: string): void;
}

/** Dependencies of a link. */
interface ServerLinkDeps {
  /** Socket of the process that runs servers; '' if there is none. */
  readonly socket: string;
  /** Socket on which this engine answers binding calls. */
  readonly calls: string;
  /** Requests the start of the process; called repeatedly until it listens. */
  readonly want: () => void;
}

/** How long the process may take until it listens, and the interval of checks. */
const START_MS = 20_000;
const LOOK_MS = 50;

interface Asked {
  readonly resolve: (socket: string) => void;
  readonly reject: (error: Error) => void;
}

export class ServerLink {
  #deps: ServerLinkDeps;
  #connection: Promise<Socket> | null = null;
  #asked = new Map<number, Asked>();
  #listeners = new Map<string, ServerListener>();
  #lastId = 0;
  #closed = false;

  constructor(deps: ServerLinkDeps) {
    this.#deps = deps;
  }

  /**
   * Acquires the Unix socket of a server, which runs until it is released.
   *
   * @throws {PlatformError} `server_start_failed`, `server_unavailable`, `overloaded`
   */
  async acquire(spec: ServerSpec, listener: ServerListener): Promise<string> {
    if (this.#deps.socket === '') throw unavailable('this handler runs no servers');
    const connection = await (this.#connection ??= this.#connect());
    const id = ++this.#lastId;
    this.#listeners.set(spec.key, listener);
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      this.#say(connection, { type: 'acquire', id, spec });
    });
  }

  release(key: string): void {
    void this.#connection?.then((connection) => this.#say(connection, { type: 'release', key })).catch(() => {});
  }

  /** Reports that the server accepts no connections. */
  lost(key: string, socket: string): void {
    void this.#connection?.then((connection) => this.#say(connection, { type: 'lost', key, socket })).catch(() => {});
  }

  /** Called when a user no longer uses the server. */
  forget(key: string, listener: ServerListener): void {
    if (this.#listeners.get(key) === listener) this.#listeners.delete(key);
  }

  close(): void {
    this.#closed = true;
    void this.#connection?.then((connection) => connection.destroy()).catch(() => {});
  }

  #say(connection: Socket, message: FromEngine): void {
    if (connection.writable) connection.write(`${JSON.stringify(message)}\n`);
  }

  async #connect(): Promise<Socket> {
    const until = performance.now() + START_MS;
    for (;;) {
      const connection = connect(this.#deps.socket);
      const isOpen = await new Promise<boolean>((resolve) => {
        connection.once('connect', () => resolve(true)).once('error', () => resolve(false));
      });
      if (isOpen) return this.#opened(connection);
      if (this.#closed || performance.now() > until) {
        this.#connection = null;
        throw unavailable(
          'the process that runs servers does not start: its log says why; in containers it is the service `servers`, which `--profile servers` starts',
        );
      }
      this.#deps.want();
      await pause(LOOK_MS);
    }
  }

  #opened(connection: Socket): Socket {
    const read = readLines<ToEngine>((message) => this.#heard(message));
    connection.setEncoding('utf8').on('data', read);
    connection.on('error', () => {});
    connection.once('close', () => {
      this.#connection = null;
      for (const { reject } of this.#asked.values()) reject(unavailable('the server process exited'));
      this.#asked.clear();
      for (const listener of this.#listeners.values()) listener.ended('');
    });
    this.#say(connection, { type: 'hello', calls: this.#deps.calls });
    return connection;
  }

  #heard(message: ToEngine): void {
    if (message.type === 'line') return this.#listeners.get(message.key)?.line(message.level, message.text);
    if (message.type === 'ended') return this.#listeners.get(message.key)?.ended(message.socket);
    const asked = this.#asked.get(message.id);
    this.#asked.delete(message.id);
    if (message.type === 'acquired') asked?.resolve(message.socket);
    else asked?.reject(new PlatformError(message.code, message.details));
  }
}

/** The link of engines without servers. */
export const noServers = new ServerLink({ socket: '', calls: '', want: () => {} });

function unavailable(reason: string): PlatformError {
  return new PlatformError('server_unavailable', { reason });
}
