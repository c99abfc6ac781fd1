// Who is quarantined because it kills engines or loses them threads, for how long, and when it is released. Holds the
// policy and no process: the supervisor reports deaths and what the quarantine engines do, and asks it before it starts
// one. Time comes in.
import type { QuarantinedDeployment } from '../engines/messages.ts';
import type { DeploymentKey, QuarantineState } from '../private-port/state.ts';
import {
  faded,
  isDangerous,
  ledgerEntries,
  strikesOf,
  withDeath,
  withRelease,
  type Death,
  type Ledger,
} from './ledger.ts';

/** Periods, in ms. */
interface QuarantinePolicy {
  /** First pause; doubled with every further death. */
  readonly backoffMs: number;
  readonly backoffMsMax: number;
  /** How long it must serve without a death to be released. */
  readonly probationMs: number;
  /** And how many requests. */
  readonly requestsMin: number;
  /** After which a death counts no more. */
  readonly ledgerMs: number;
}

/** How long a pause is made longer for want of engines. */
const FULL_MS_MAX = 60_000;

/** What a deployment that is blamed for certain has done. */
export interface Deed {
  /** For operators. */
  readonly reason: string;
  /** CPU of threads whose code could not be ended. */
  readonly burntMs: number;
}

const ended: Deed = { reason: 'its code ended the engine it ran in', burntMs: 0 };

interface Restricted {
  readonly since: number;
  readonly lastAt: number;
  readonly strikes: number;
  readonly until: number;
  /** Served in an engine of its own; else only paused. */
  readonly apart: boolean;
  readonly reason: string;
  /** When its engine began to serve; 0 while there is none. */
  servedFrom: number;
  served: number;
}

/** Deployments that are quarantined. */
export class Quarantine {
  #policy: QuarantinePolicy;
  #ledger: Ledger;
  #restricted = new Map<DeploymentKey, Restricted>();

  /** @param ledger of an earlier run: who was dangerous still is. */
  constructor(policy: QuarantinePolicy, ledger: Ledger, now: number) {
    this.#policy = policy;
    this.#ledger = ledger;
    for (const deployment of ledger.keys()) {
      if (isDangerous(ledger, deployment))
        this.#restrict(deployment, ledger.get(deployment)!.lastAt, now, 'ended engines before the last start');
    }
  }

  get ledger(): Ledger {
    return this.#ledger;
  }

  /**
   * An engine died, or has lost a thread. @param apart whose quarantine engine it was: then there is no doubt who did
   * it.
   *
   * @returns deployments that are now paused or quarantined because of it.
   */
  onDeath(death: Death, apart: DeploymentKey | null, { reason, burntMs }: Deed = ended): DeploymentKey[] {
    const certain = apart === null ? death : { ...death, blamed: apart };
    this.#ledger = withDeath(this.#ledger, certain);
    const { blamed, at } = certain;
    const struck =
      blamed === null ? death.running.filter((deployment) => isDangerous(this.#ledger, deployment)) : [blamed];
    for (const deployment of struck) {
      // Who burned more than that waits as long as it burned.
      const first = Math.max(this.#policy.backoffMs, burntMs);
      const pause = first * 2 ** Math.max(0, strikesOf(this.#ledger, deployment) - 2);
      this.#restrict(
        deployment,
        at,
        at + Math.min(pause, this.#policy.backoffMsMax),
        blamed === null ? 'was running at several deaths of engines' : reason,
      );
    }
    return struck;
  }

  #restrict(deployment: DeploymentKey, at: number, until: number, reason: string): void {
    const since = this.#restricted.get(deployment)?.since ?? at;
    const strikes = strikesOf(this.#ledger, deployment);
    const apart = isDangerous(this.#ledger, deployment);
    this.#restricted.set(deployment, { since, lastAt: at, strikes, until, apart, reason, servedFrom: 0, served: 0 });
  }

  /** Whether an engine of its own may be started for it now. */
  mayServe(deployment: DeploymentKey, now: number): boolean {
    const restricted = this.#restricted.get(deployment);
    return restricted !== undefined && restricted.apart && restricted.until <= now;
  }

  isQuarantined(deployment: DeploymentKey): boolean {
    return this.#restricted.get(deployment)?.apart === true;
  }

  /** Its engine serves: probation begins. */
  onServing(deployment: DeploymentKey, now: number): void {
    const restricted = this.#restricted.get(deployment);
    if (restricted !== undefined) restricted.servedFrom = now;
  }

  /** Its engine has answered so many requests so far. */
  onServed(deployment: DeploymentKey, served: number): void {
    const restricted = this.#restricted.get(deployment);
    if (restricted !== undefined) restricted.served = served;
  }

  /** Its engine was stopped for want of requests: what it served well still counts. */
  onIdle(deployment: DeploymentKey): void {
    const restricted = this.#restricted.get(deployment);
    if (restricted !== undefined) restricted.servedFrom = 0;
  }

  /**
   * Releases those that behaved well, ends pauses, forgets what is long ago. Returns who is free now.
   *
   * @param isFull all engines serve and a spare is ready: else a second death would leave nobody to serve, and pauses
   *   go on.
   */
  pass(now: number, isFull: boolean): DeploymentKey[] {
    const { probationMs, requestsMin, ledgerMs } = this.#policy;
    const free: DeploymentKey[] = [];
    for (const [deployment, { apart, lastAt, until, servedFrom, served }] of this.#restricted) {
      const hasServedWell =
        (servedFrom > 0 && now - servedFrom >= probationMs && served >= requestsMin) || now - lastAt >= ledgerMs;
      const isPaused = until > now || (!isFull && until + FULL_MS_MAX > now);
      if (apart ? !hasServedWell : isPaused) continue;
      this.#restricted.delete(deployment);
      if (apart) this.#ledger = withRelease(this.#ledger, deployment);
      free.push(deployment);
    }
    this.#ledger = faded(this.#ledger, now, ledgerMs, (deployment) => this.#restricted.has(deployment));
    return free;
  }

  /** When `pass` has the next pause to end; null without any. */
  get nextPauseEnd(): number | null {
    let next: number | null = null;
    for (const { apart, until } of this.#restricted.values())
      if (!apart && (next === null || until < next)) next = until;
    return next;
  }

  /** As engines are told. @param link where a deployment's engine takes requests; null without one. */
  list(link: (deployment: DeploymentKey) => string | null): QuarantinedDeployment[] {
    return [...this.#restricted].map(([deployment, { strikes, until, apart }]) => ({
      deployment,
      strikes,
      until,
      link: link(deployment),
      returns: !apart,
    }));
  }

  /** For operators. */
  state(now: number): { quarantine: QuarantineState[]; ledger: ReturnType<typeof ledgerEntries> } {
    const iso = (ms: number): string => new Date(ms).toISOString();
    const quarantine = [...this.#restricted].map(([deployment, { since, strikes, until, reason }]) => ({
      deployment,
      since: iso(since),
      strikes,
      until: until > now ? iso(until) : null,
      reason,
    }));
    return { quarantine, ledger: ledgerEntries(this.#ledger) };
  }
}
