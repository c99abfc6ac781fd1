// Decides where a request is served: here, in its deployment's home engine, or in the dedicated engine of a quarantined
// deployment. The supervisor reports which engines serve. handler.ts asks only once per deployment and change, not for
// each request.
import type { Exchange } from '../http/listener.ts';
import { headerIn } from '../http/header-block.ts';
import type { Forwarder } from './forwarder.ts';
import { homes } from './homes.ts';

/** Destination of a deployment's requests instead of this engine's isolates. */
export interface Remote {
  /** Forwards a request; returns false if it must be served here. */
  take(exchange: Exchange): boolean;
  /** Whether the deployment must not run here. */
  readonly isQuarantined: boolean;
}

/** State of a deployment in this engine. */
export interface Placed {
  /** Whether the deployment has a warm isolate in this engine. */
  readonly hasIsolate: boolean;
}

/** Which engines serve, and which deployments are quarantined, as reported by the supervisor. */
export interface ClusterState {
  readonly serving: readonly { readonly place: number; readonly link: string }[];
  readonly quarantined: readonly {
    readonly deployment: string;
    readonly strikes: number;
    readonly until: number;
    readonly link: string | null;
    readonly returns: boolean;
  }[];
}

interface PlacementDeps {
  /** Number of this engine among the serving engines. */
  readonly place: () => number | null;
  readonly forwarder: Forwarder;
  /**
   * Forwarded requests of a deployment per minute after which it gets an isolate here; 0 disables forwarding for warm
   * isolates.
   */
  readonly forwardsMax: number;
  /** Requests an engine for a quarantined deployment. */
  readonly requestEngine: (deployment: string) => void;
  readonly serveHere: (deployment: string, exchange: Exchange) => void;
  /** Sends the response that a deployment is quarantined. */
  readonly refuse: (exchange: Exchange, strikes: number, retryAfterSeconds: number) => void;
}

const WINDOW_MS = 60_000;
/** With more pending forwarded requests of one deployment, its home engine is considered busy. */
const IN_FLIGHT_MAX = 64;
/** How many requests may wait for a quarantine engine to start, and for how long. */
const HELD_MAX = 100;
const HELD_MS = 5000;

interface Held {
  readonly deployment: string;
  readonly exchange: Exchange;
  readonly timer: NodeJS.Timeout;
}

export class Placement {
  #deps: PlacementDeps;
  #state: ClusterState = { serving: [], quarantined: [] };
  #places: readonly number[] = [];
  #quarantined = new Map<string, ClusterState['quarantined'][number]>();
  #held: Held[] = [];

  constructor(deps: PlacementDeps) {
    this.#deps = deps;
  }

  /**
   * Sets the state that the supervisor reported. Afterwards, the remotes of all deployments must be requested again,
   * and then `release` must be called.
   */
  update(state: ClusterState): void {
    this.#state = state;
    this.#places = state.serving.map(({ place }) => place);
    this.#quarantined = new Map(state.quarantined.map((one) => [one.deployment, one]));
    const links = new Set(state.serving.map(({ link }) => link));
    for (const { link } of state.quarantined) if (link !== null) links.add(link);
    this.#deps.forwarder.retain(links);
  }

  /** Sends waiting requests to their destination. */
  release(): void {
    for (const held of this.#held.splice(0)) {
      const quarantined = this.#quarantined.get(held.deployment);
      if (quarantined !== undefined && quarantined.link === null && quarantined.until <= Date.now()) {
        this.#held.push(held);
        continue;
      }
      clearTimeout(held.timer);
      held.exchange.onAbort = null;
      if (quarantined === undefined) this.#deps.serveHere(held.deployment, held.exchange);
      else new QuarantineRemote(this.#deps, quarantined, () => {}).take(held.exchange);
    }
  }

  /** @param before the previous value, whose counts continue if nothing has changed. */
  remoteOf(deployment: string, placed: Placed, before: Remote | null): Remote | null {
    const own = this.#deps.place();
    // A quarantine engine serves all requests that it receives.
    if (own === null) return null;
    const quarantined = this.#quarantined.get(deployment);
    if (quarantined !== undefined)
      return new QuarantineRemote(this.#deps, quarantined, (exchange) =>
        this.#hold(deployment, exchange, quarantined.strikes),
      );
    if (this.#deps.forwardsMax === 0 || this.#places.length < 2) return null;
    const [home] = homes(deployment, this.#places, 1) as [number];
    if (home === own) return null;
    const { link } = this.#state.serving.find(({ place }) => place === home)!;
    if (before instanceof HomeRemote && before.link === link) return before;
    return new HomeRemote(this.#deps, deployment, link, placed);
  }

  #hold(deployment: string, exchange: Exchange, strikes: number): void {
    if (this.#held.length >= HELD_MAX) {
      this.#deps.refuse(exchange, strikes, 1);
      return;
    }
    const drop = (): void => void (this.#held = this.#held.filter((other) => other !== held));
    const timer = setTimeout(() => {
      drop();
      exchange.onAbort = null;
      this.#deps.refuse(exchange, strikes, 1);
    }, HELD_MS);
    const held: Held = { deployment, exchange, timer };
    const onAbort = (): void => {
      clearTimeout(timer);
      drop();
    };
    exchange.onAbort = onAbort;
    this.#held.push(held);
    this.#deps.requestEngine(deployment);
  }
}

/**
 * Forwards to the home engine while that is cheaper than an isolate here. Each forwarded request costs a little, and an
 * isolate costs as much as a hundred forwarded requests. So for any traffic, the cost is at most twice the minimum.
 */
class HomeRemote implements Remote {
  readonly link: string;
  readonly isQuarantined = false;
  inFlight = 0;
  #deps: PlacementDeps;
  #deployment: string;
  #placed: Placed;
  #count = 0;
  #since = 0;

  constructor(deps: PlacementDeps, deployment: string, link: string, placed: Placed) {
    this.#deps = deps;
    this.#deployment = deployment;
    this.link = link;
    this.#placed = placed;
  }

  take(exchange: Exchange): boolean {
    if (this.#placed.hasIsolate || isHandshake(exchange)) return false;
    const now = performance.now();
    if (now - this.#since > WINDOW_MS) {
      this.#since = now;
      this.#count = 0;
    }
    if (++this.#count > this.#deps.forwardsMax || this.inFlight >= IN_FLIGHT_MAX) {
      this.#count = 0;
      return false;
    }
    this.#deps.forwarder.forward(this.link, this.#deployment, exchange, this);
    return true;
  }
}

/** The deployment is quarantined, so none of its code runs here. */
class QuarantineRemote implements Remote {
  readonly isQuarantined = true;
  inFlight = 0;
  #deps: PlacementDeps;
  #quarantined: ClusterState['quarantined'][number];
  #hold: (exchange: Exchange) => void;

  constructor(
    deps: PlacementDeps,
    quarantined: ClusterState['quarantined'][number],
    hold: (exchange: Exchange) => void,
  ) {
    this.#deps = deps;
    this.#quarantined = quarantined;
    this.#hold = hold;
  }

  take(exchange: Exchange): boolean {
    const { deployment, strikes, until, link, returns } = this.#quarantined;
    const waitMs = until - Date.now();
    if (waitMs > 0 || returns || isHandshake(exchange))
      this.#deps.refuse(exchange, strikes, Math.max(1, Math.ceil(waitMs / 1000)));
    else if (link === null) this.#hold(exchange);
    else this.#deps.forwarder.forward(link, deployment, exchange, this);
    return true;
  }
}

/** The connection of the socket is in this engine, so the request is served here. */
function isHandshake(exchange: Exchange): boolean {
  return exchange.headerBlock.includes('upgrade\0') && headerIn(exchange.headerBlock, 'upgrade') !== null;
}
