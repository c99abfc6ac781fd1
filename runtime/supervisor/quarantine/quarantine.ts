// Decides which deployments are quarantined because engines died or lost threads because of them, for how long, and
// when they are released. Contains the policy but no processes: the supervisor reports deaths and events of quarantine
// engines, and asks before it starts one. The time is a parameter.
import type { QuarantinedDeployment } from '../engines/messages.ts';
import type { DeploymentKey, QuarantineState } from '../engines/state.ts';
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
  /** First pause; doubled after every further death. */
  readonly backoffMs: number;
  readonly backoffMsMax: number;
  /** How long a deployment must serve without a death to be released. */
  readonly probationMs: number;
  /** How many requests a deployment must serve to be released. */
  readonly requestsMin: number;
  /** Time after which a death no longer counts. */
  readonly ledgerMs: number;
}

/** Maximum extension of a pause while engines are missing. */
const FULL_MS_MAX = 60_000;

/** The incident of a deployment that is certainly to blame. */
export interface Deed {
  /** For operators. */
  readonly reason: string;
  /** CPU of threads whose code could not be ended. */
  readonly burntMs: number;
}

const ended: Deed = { reason: 'its code crashed its engine', burntMs: 0 };

interface Restricted {
  readonly since: number;
  readonly lastAt: number;
  readonly strikes: number;
  readonly until: number;
  /** Whether the deployment is served in a dedicated engine; otherwise, it is only paused. */
  readonly apart: boolean;
  readonly reason: string;
  /** When the deployment's engine began to serve; 0 if the deployment has no engine. */
  servedFrom: number;
  served: number;
}

/** Quarantined deployments. */
export class Quarantine {
  #policy: QuarantinePolicy;
  #ledger: Ledger;
  #restricted = new Map<DeploymentKey, Restricted>();

  /** @param ledger the ledger of an earlier run, whose dangerous deployments stay quarantined. */
  constructor(policy: QuarantinePolicy, ledger: Ledger, now: number) {
    this.#policy = policy;
    this.#ledger = ledger;
    for (const deployment of ledger.keys()) {
      if (isDangerous(ledger, deployment))
        this.#restrict(deployment, ledger.get(deployment)!.lastAt, now, 'crashed engines before the last start');
    }
  }

  get ledger(): Ledger {
    return this.#ledger;
  }

  /**
   * Called when an engine died or lost a thread. @param apart the deployment of the engine, if it was a quarantine
   * engine; the cause is then certain.
   *
   * @returns the deployments that are now paused or quarantined because of the exit.
   */
  onDeath(death: Death, apart: DeploymentKey | null, { reason, burntMs }: Deed = ended): DeploymentKey[] {
    const certain = apart === null ? death : { ...death, blamed: apart };
    this.#ledger = withDeath(this.#ledger, certain);
    const { blamed, at } = certain;
    const struck =
      blamed === null ? death.running.filter((deployment) => isDangerous(this.#ledger, deployment)) : [blamed];
    for (const deployment of struck) {
      // The pause is at least as long as the CPU time that the deployment used.
      const first = Math.max(this.#policy.backoffMs, burntMs);
      const pause = first * 2 ** Math.max(0, strikesOf(this.#ledger, deployment) - 2);
      this.#restrict(
        deployment,
        at,
        at + Math.min(pause, this.#policy.backoffMsMax),
        blamed === null ? 'was running when several engines died' : reason,
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

  /** Whether a dedicated engine may be started for the deployment now. */
  mayServe(deployment: DeploymentKey, now: number): boolean {
    const restricted = this.#restricted.get(deployment);
    return restricted !== undefined && restricted.apart && restricted.until <= now;
  }

  isQuarantined(deployment: DeploymentKey): boolean {
    return this.#restricted.get(deployment)?.apart === true;
  }

  /** Called when the engine of the deployment serves: probation begins. */
  onServing(deployment: DeploymentKey, now: number): void {
    const restricted = this.#restricted.get(deployment);
    if (restricted !== undefined) restricted.servedFrom = now;
  }

  /** Called with the number of requests that the engine of the deployment has answered so far. */
  onServed(deployment: DeploymentKey, served: number): void {
    const restricted = this.#restricted.get(deployment);
    if (restricted !== undefined) restricted.served = served;
  }

  /** Called when the idle engine of the deployment was stopped: requests that it served without a crash still count. */
  onIdle(deployment: DeploymentKey): void {
    const restricted = this.#restricted.get(deployment);
    if (restricted !== undefined) restricted.servedFrom = 0;
  }

  /**
   * Releases deployments that behaved well, ends pauses, drops old entries. Returns the released deployments.
   *
   * @param isFull whether all engines serve and a spare is ready. Otherwise, pauses are extended, because a second
   * death would leave no engine to serve.
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

  /** The time at which `pass` has to end the next pause; null if there is none. */
  get nextPauseEnd(): number | null {
    let next: number | null = null;
    for (const { apart, until } of this.#restricted.values())
      if (!apart && (next === null || until < next)) next = until;
    return next;
  }

  /** State for engines. @param link socket of a deployment's engine, or null. */
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
