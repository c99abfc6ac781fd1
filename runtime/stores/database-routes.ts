// Locates databases for the client in database-service.ts. The nearest service returns the shard, or the address of a
// service on another machine, which then returns the shard. A result is cached until its connection ends.
import type { DatabaseLimits } from '#core/limits.ts';
import { SqlRefusal } from '#core/database-request.ts';
import { PlatformError } from '#core/errors.ts';
import { ops, type Elsewhere } from '../databases/protocol/frames.ts';
import { DatabaseEndpoint, isAway, parseServiceAddress, type DatabaseAddress } from './database-endpoint.ts';
import type { DatabaseLink, Sent } from './database-link.ts';

/** Bytes by namespace. */
type Kept = Readonly<Record<string, number>> | null;

interface RoutesDeps {
  /** The nearest first. */
  readonly addresses: readonly DatabaseAddress[];
  /** The token for services whose address another service returned. */
  readonly token: string;
  readonly limits: DatabaseLimits;
  onLost(from: FoundShard, gone: DatabaseLink, unanswered: Sent[]): void;
  onElsewhere(request: Sent): void;
}

/** A shard that owns a database. */
export interface FoundShard {
  readonly endpoint: DatabaseEndpoint;
  readonly shard: string;
  readonly path: string;
}

const ATTEMPTS_MAX = 3;
/** Maximum number of redirects, because services may refer to each other while a database moves. */
const HOPS_MAX = 3;
const ROUTES_KEPT = 10_000;
const NEAREST_MS = 5000;
const PEER_MS = 500;
const PAUSE_MS = 200;
/** Interval of checks for new services. */
const PEERS_MS = 2000;
/** How long one of several services may take to return a shard, before the request is repeated. */
const ROUTE_MS = 3000;
const [LOOK_MS, SILENT_MS] = [1000, 2000];

export class DatabaseRoutes {
  readonly #deps: RoutesDeps;
  readonly #links = new Map<string, Promise<DatabaseLink>>();
  readonly #opened = new Map<DatabaseLink, FoundShard>();
  readonly #looking = new Set<DatabaseLink>();
  readonly #found = new Map<string, DatabaseLink>();
  readonly #finding = new Map<string, Promise<DatabaseLink>>();
  /** The services by address, beginning with the configured ones. */
  readonly #endpoints = new Map<string, DatabaseEndpoint>();
  readonly #given: readonly DatabaseEndpoint[];
  /** Addresses of services on other machines, from the last time they were requested. */
  #peers: readonly string[] = [];
  /** Whether there were other services, which may have or take over the databases of an unresponsive machine. */
  #hadPeers = false;
  #peersAt = 0;
  readonly #watch: NodeJS.Timeout;
  #closed = false;

  constructor(deps: RoutesDeps) {
    this.#deps = deps;
    this.#watch = setInterval(() => this.#lookAtSilent(), LOOK_MS);
    this.#watch.unref();
    this.#given = deps.addresses.map((address) => this.#newEndpoint(address, NEAREST_MS / deps.addresses.length));
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  #newEndpoint(address: DatabaseAddress, connectMs: number): DatabaseEndpoint {
    const { limits } = this.#deps;
    return new DatabaseEndpoint({
      address,
      connectMs,
      linkLimits: {
        inFlightMax: limits.inFlightMax,
        // The size limit of a frame is high, because the JSON of a result can be several times larger than its data.
        answerBytesMax: 1024 + Math.max(4 * limits.resultBytesMax, limits.dumpBytesMax),
      },
      onPeers: (peers) => {
        this.#peers = peers;
        this.#hadPeers ||= peers.length > 0;
      },
    });
  }

  #endpointAt(address: string): DatabaseEndpoint {
    const known = this.#endpoints.get(address);
    if (known !== undefined) return known;
    const { token } = this.#deps;
    const parsed = parseServiceAddress(address, token);
    if (parsed === null || token === '')
      throw new PlatformError('database_unavailable', {
        reason: `it is on another machine (${address}), and DB_SERVICE_TOKEN is not set here`,
      });
    const endpoint = this.#newEndpoint(parsed, PEER_MS);
    this.#endpoints.set(address, endpoint);
    return endpoint;
  }

  /** Sends a request to the nearest service that responds. */
  async #askNearest<Answer>(op: number, name: string, args: unknown): Promise<[Answer, DatabaseEndpoint]> {
    let failure: unknown;
    for (const endpoint of this.#given)
      try {
        return [await this.#askOne(endpoint, op, name, args), endpoint];
      } catch (error) {
        if (!isAway(error)) throw error;
        failure = error;
      }
    for (const peer of this.#peers)
      try {
        const endpoint = this.#endpointAt(peer);
        return [await this.#askOne(endpoint, op, name, args), endpoint];
      } catch (error) {
        if (!isAway(error)) throw error;
      }
    throw failure;
  }

  async #askOne<Answer>(endpoint: DatabaseEndpoint, op: number, name: string, args: unknown): Promise<Answer> {
    const msMax = op === ops.route && this.#hadPeers ? ROUTE_MS : undefined;
    return JSON.parse((await endpoint.ask(op, name, args, msMax)) as string) as Answer;
  }

  /** Asks the service that has a database. */
  async #askHome<Answer>(op: number, name: string, args: unknown): Promise<[Answer, DatabaseEndpoint]> {
    let [answer, endpoint] = await this.#askNearest<Answer | Elsewhere>(op, name, args);
    for (let hop = 0; isElsewhere(answer); hop++) {
      if (hop === HOPS_MAX)
        throw new PlatformError('database_unavailable', { reason: 'its machine is changing: try again' });
      endpoint = this.#endpointAt(answer.at);
      answer = await this.#askOne<Answer | Elsewhere>(endpoint, op, name, args);
    }
    return [answer, endpoint];
  }

  /**
   * Asks the service that has a database.
   *
   * @throws {SqlRefusal} if the service refuses; {PlatformError} if it does not answer.
   */
  async ask<Answer>(op: number, name: string, args: unknown, attempts: number): Promise<Answer> {
    for (let attempt = 1; ; attempt++)
      try {
        const [answer] = await this.#askHome<Answer & { e?: [string, string] }>(op, name, args);
        if (answer.e !== undefined) throw new SqlRefusal(answer.e[0], answer.e[1]);
        return answer;
      } catch (error) {
        if (error instanceof SqlRefusal || attempt >= attempts || this.#closed) throw toPlatform(error);
      }
  }

  /** Address of the machine that has a database, unless it is the machine of the nearest service. */
  async awayFrom(name: string): Promise<string | null> {
    const [answer] = await this.#askNearest<object>(ops.route, name, {}).catch((error: unknown) => {
      throw toPlatform(error);
    });
    return isElsewhere(answer) ? answer.at : null;
  }

  /** The bytes of all services' files by namespace; null in a managed cloud. */
  async kept(): Promise<Readonly<Record<string, number>> | null> {
    try {
      const [nearest, endpoint] = await this.#askNearest<Kept>(ops.kept, '', {});
      await endpoint.askPeers();
      const sum: Record<string, number> = { ...nearest };
      for (const peer of this.#peers) {
        const other = this.#endpointAt(peer);
        if (other === endpoint) continue;
        for (const [namespace, bytes] of Object.entries((await askJson<Kept>(other, ops.kept, '', {})) ?? {}))
          sum[namespace] = (sum[namespace] ?? 0) + bytes;
      }
      return nearest === null ? null : sum;
    } catch (error) {
      throw toPlatform(error);
    }
  }

  /** The connection to the shard of a database. */
  linkOf(name: string): DatabaseLink | Promise<DatabaseLink> {
    const link = this.#found.get(name);
    if (link?.isOpen === true) return link;
    let finding = this.#finding.get(name);
    if (finding === undefined) {
      finding = this.#find(name).finally(() => this.#finding.delete(name));
      this.#finding.set(name, finding);
    }
    return finding;
  }

  forget(name: string): void {
    this.#found.delete(name);
  }

  async #find(name: string): Promise<DatabaseLink> {
    const since = performance.now();
    for (let attempt = 1; ; attempt++) {
      try {
        const [{ shard, path }, endpoint] = await this.#askHome<{ shard: string; path: string }>(ops.route, name, {});
        const found = await this.#linkTo({ endpoint, shard, path });
        this.#refreshPeers();
        if (this.#found.size >= ROUTES_KEPT) this.#found.clear();
        this.#found.set(name, found);
        return found;
      } catch (error) {
        // The process may have exited between the response and the connection, or the machine was lost and another one
        // takes over.
        const isOver = this.#hadPeers ? performance.now() - since > this.#deps.limits.homeMs : attempt === ATTEMPTS_MAX;
        if (!isAway(error) || isOver || this.#closed) throw toPlatform(error);
        if (this.#hadPeers) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }
  }

  #linkTo(to: FoundShard): Promise<DatabaseLink> {
    const { endpoint, shard, path } = to;
    const known = this.#links.get(shard);
    if (known !== undefined) return known;
    const link = endpoint.open(
      shard,
      path,
      (gone, unanswered) => {
        this.#links.delete(shard);
        this.#opened.delete(gone);
        for (const [name, one] of this.#found) if (one === gone) this.#found.delete(name);
        this.#deps.onLost(to, gone, unanswered);
      },
      (request) => this.#deps.onElsewhere(request),
    );
    this.#links.set(shard, link);
    link.then(
      (opened) => this.#opened.set(opened, to),
      () => this.#links.delete(shard),
    );
    return link;
  }

  /** There may be other services by now, even if there were none before. */
  #refreshPeers(): void {
    if (performance.now() - this.#peersAt < PEERS_MS) return;
    this.#peersAt = performance.now();
    this.#given[0]!.askPeers().catch(() => {});
  }

  /**
   * Requests are moved, because a frozen machine keeps its connections while another machine takes over its projects.
   */
  #lookAtSilent(): void {
    if (this.#opened.size > 0) this.#refreshPeers();
    if (!this.#hadPeers) return;
    for (const [link, { endpoint }] of this.#opened) {
      const name = link.silentMs > SILENT_MS ? link.waitsFor : null;
      if (name === null || this.#looking.has(link)) continue;
      this.#looking.add(link);
      this.#askHome(ops.route, name, {})
        .then(
          ([, home]) => home === endpoint || link.close(),
          () => {},
        )
        .finally(() => this.#looking.delete(link));
    }
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#watch);
    for (const endpoint of [...this.#given, ...this.#endpoints.values()]) endpoint.close();
  }
}

async function askJson<Answer>(endpoint: DatabaseEndpoint, op: number, name: string, args: unknown): Promise<Answer> {
  return JSON.parse((await endpoint.ask(op, name, args)) as string) as Answer;
}

function isElsewhere(answer: unknown): answer is Elsewhere {
  return typeof (answer as { at?: unknown } | null)?.at === 'string';
}

function toPlatform(error: unknown): unknown {
  return isAway(error) ? new PlatformError('database_unavailable', { reason: error.message }) : error;
}
