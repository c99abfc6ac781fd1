// Prevents a project from having two homes: when the lease of its service has expired, this process starts no request
// and sends no response, even if it was stopped in the meantime. Called by shard-connection.ts for each request;
// shard.ts forwards the parent's messages.
import { LeaseEnd, leaseNow, type Moment } from '../protocol/lease-clock.ts';
import { projectOf } from '../protocol/database-name.ts';

interface HomeGuardDeps {
  /** Whether no database of the project is in use. */
  isQuiet(project: string): boolean;
  /** Closes the files of a project; null means all. */
  close(project: string | null): void;
  /** Called when the lease has expired: engines must look up the home again. */
  lapsed(): void;
}

/** A request that is held while its project moves. */
interface HeldRequest {
  go(): void;
  goElsewhere(): void;
}

const LOOK_MS = 5;

export class HomeGuard {
  readonly #deps: HomeGuardDeps;
  readonly #end: LeaseEnd;
  #timer: NodeJS.Timeout | null = null;
  /** Projects that this home serves while it has a lease, including those that it served before the lease. */
  readonly #served = new Set<string>();
  readonly #held = new Map<string, HeldRequest[]>();
  #latest = '';

  constructor(deps: HomeGuardDeps, now?: () => Moment) {
    this.#deps = deps;
    this.#end = new LeaseEnd(null, now);
  }

  /** Answers may leave. */
  get isValid(): boolean {
    return !this.#end.isPast;
  }

  /**
   * @returns whether a request for a database may start now. @param continues whether the request is part of an open
   * transaction.
   */
  admit(name: string, continues: boolean): 'begins' | 'waits' | 'elsewhere' {
    if (this.#end.at === null && name === this.#latest && this.#held.size === 0) return 'begins';
    const project = projectOf(name);
    this.#latest = name;
    if (this.#end.at === null) this.#served.add(project);
    else if (!this.isValid || !this.#served.has(project)) return 'elsewhere';
    return this.#held.size > 0 && !continues && this.#held.has(project) ? 'waits' : 'begins';
  }

  /** Holds a request of a project that is moving. */
  keep(name: string, request: HeldRequest): void {
    this.#held.get(projectOf(name))!.push(request);
  }

  serve(project: string): void {
    this.#served.add(project);
  }

  lease(until: Moment | null): void {
    // If the process was stopped for long, the end of the lease may not have been noticed before.
    if (!this.isValid) this.#lapse();
    this.#end.set(until);
    this.#look();
  }

  #look(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#end.at === null) return;
    const { leftMs } = this.#end;
    if (leftMs === 0) this.#lapse();
    else this.#timer = setTimeout(() => this.#look(), leftMs + 1);
  }

  #lapse(): void {
    if (this.#served.size === 0) return;
    this.#served.clear();
    this.#deps.lapsed();
    this.#deps.close(null);
    for (const project of this.#held.keys()) this.release(project, false);
  }

  /** @returns null when the project has no open files; otherwise the reason, without a change. */
  async hold(project: string, msMax: number): Promise<string | null> {
    if (!this.#held.has(project)) this.#held.set(project, []);
    for (const until = leaseNow() + msMax; !this.#deps.isQuiet(project);) {
      if (leaseNow() > until) return 'transactions or copies of its databases did not end';
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    this.#deps.close(project);
    return null;
  }

  release(project: string, isHome: boolean): void {
    const held = this.#held.get(project) ?? [];
    this.#held.delete(project);
    if (!isHome) this.#served.delete(project);
    for (const request of held)
      if (isHome && this.isValid) request.go();
      else request.goElsewhere();
  }
}
