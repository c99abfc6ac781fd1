// One database service, for its clients: requests to the service, and connections to its shards. Used by
// database-service.ts, and for requests between services.
import { createConnection, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Failure, isFailure } from '#core/failure.ts';
import { DatabaseLink, type Sent } from './database-link.ts';

/** Address of a service. */
export type DatabaseAddress =
  | { readonly socketPath: string }
  | { readonly host: string; readonly port: number; readonly token: string; readonly tls?: { readonly ca?: string } };

interface EndpointDeps {
  readonly address: DatabaseAddress;
  readonly linkLimits: { readonly inFlightMax: number; readonly answerBytesMax: number };
  /** Time within which a service that is being replaced is available again. */
  readonly connectMs: number;
  /** Addresses of other services, as reported by this one. */
  readonly onPeers?: (peers: readonly string[]) => void;
}

const PAUSE_MS = 50;
/** Timeout of connection attempts, because a lost machine does not refuse connections. */
const TRY_MS = 2000;
const KEEP_ALIVE_MS = 2000;
const ADDRESS = /^(tcp|tls):\/\/(\[[0-9a-f:.]+\]|[a-z0-9._-]+):(\d{1,5})\/?$/i;

/** @returns null if the text is not `tcp://host:port` or `tls://host:port`. */
export function parseServiceAddress(text: string, token: string): DatabaseAddress | null {
  const match = ADDRESS.exec(text);
  if (match === null) return null;
  const [, scheme, host = '', port] = match;
  return {
    host: host.replace(/^\[|\]$/g, ''),
    port: Number(port),
    token,
    ...(scheme?.toLowerCase() === 'tls' ? { tls: {} } : {}),
  };
}

export class DatabaseEndpoint {
  readonly #deps: EndpointDeps;
  readonly #sockets = new Set<Socket>();
  #control: Promise<DatabaseLink> | null = null;
  #closed = false;
  #hasPeers = false;

  constructor(deps: EndpointDeps) {
    this.#deps = deps;
  }

  /** Whether the service is reached over a socket of this machine. */
  get isLocal(): boolean {
    return 'socketPath' in this.#deps.address;
  }

  /** Connects to a shard. @throws {Failure} `database_service_away` */
  async open(
    shard: string,
    path: string,
    onLost: (link: DatabaseLink, unanswered: Sent[]) => void,
    onElsewhere: (request: Sent) => void,
  ): Promise<DatabaseLink> {
    const socket = await this.#connected(path);
    const link: DatabaseLink = new DatabaseLink(
      socket,
      this.#deps.linkLimits,
      (unanswered) => onLost(link, unanswered),
      onElsewhere,
    );
    const { address } = this.#deps;
    await link.greet('socketPath' in address ? {} : { token: address.token, shard });
    if (!link.isOpen) throw away('its process ended');
    return link;
  }

  /**
   * Asks the service.
   *
   * @param msMax the timeout of a response, because a frozen machine does not close its connections.
   * @throws {Failure} `database_service_away`; {PlatformError} if the service refuses.
   */
  async ask(op: number, name: string, args: unknown, msMax = Number.POSITIVE_INFINITY): Promise<string | Uint8Array> {
    const asked = this.#controlLink().then((link) => link.request(op, name, 0, JSON.stringify(args)));
    if (msMax === Number.POSITIVE_INFINITY) return asked;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(away('the service does not answer')), msMax);
    return Promise.race([asked, late.promise]).finally(() => clearTimeout(timer));
  }

  #controlLink(): Promise<DatabaseLink> {
    this.#control ??= this.#openControl().catch((error: unknown) => {
      this.#control = null;
      throw error;
    });
    return this.#control;
  }

  async #openControl(): Promise<DatabaseLink> {
    const { linkLimits } = this.#deps;
    const socket = await this.#connected(null);
    const link = new DatabaseLink(socket, linkLimits, (unanswered) => {
      this.#control = null;
      for (const request of unanswered) request.reject(away('the service ended'));
    });
    await this.#greet(link);
    return link;
  }

  async #greet(link: DatabaseLink): Promise<void> {
    const { address, onPeers } = this.#deps;
    const answer = await link.greet('socketPath' in address ? {} : { token: address.token });
    const { peers } = JSON.parse(answer as string) as { readonly peers?: readonly string[] };
    this.#hasPeers = peers !== undefined;
    if (peers !== undefined) onPeers?.(peers);
  }

  /** Refreshes the list of other services, if other services are possible. */
  async askPeers(): Promise<void> {
    if (this.#hasPeers) await this.#greet(await this.#controlLink());
  }

  async #connected(path: string | null): Promise<Socket> {
    const until = performance.now() + this.#deps.connectMs;
    for (;;) {
      if (this.#closed) throw away('its client is closed');
      try {
        const socket = await this.#connectOnce(path);
        this.#sockets.add(socket);
        socket.on('close', () => this.#sockets.delete(socket));
        return socket;
      } catch {
        if (path !== null || performance.now() > until) throw away('the service does not answer');
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }
  }

  #connectOnce(path: string | null): Promise<Socket> {
    const { address } = this.#deps;
    return new Promise((resolve, reject) => {
      const socket =
        'socketPath' in address
          ? createConnection(path ?? address.socketPath)
          : address.tls === undefined
            ? createConnection(address.port, address.host)
            : connectTls({ port: address.port, host: address.host, ...address.tls });
      const late = setTimeout(() => socket.destroy(new Error('no connection in time')), TRY_MS);
      socket.once('error', reject);
      const ready = (): void => {
        clearTimeout(late);
        socket.off('error', reject);
        if (!('socketPath' in address)) socket.setKeepAlive(true, KEEP_ALIVE_MS);
        resolve(socket);
      };
      socket.once('close', () => clearTimeout(late));
      socket.once('socketPath' in address || address.tls === undefined ? 'connect' : 'secureConnect', ready);
    });
  }

  /** Closes all connections; the endpoint can be used again. */
  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.#closed = true;
    this.drop();
  }
}

function away(reason: string): Error {
  return new Failure('database_service_away', reason);
}

export function isAway(error: unknown): error is Failure<'database_service_away'> {
  return isFailure(error, 'database_service_away');
}
