// Counters of an engine. While requests are served, only plain numbers of a deployment are increased, and nothing is
// allocated; names and labels are added for a report. Created by engine.ts, used by invocation-ends.ts, serving.ts and
// the isolates.
import type { InvocationKind } from '#core/plans.ts';
import { FAILURE_CODES, type FailureCode, type Outcome } from '../invocation/outcome.ts';
import { JOIN_BOUNDS, WALL_BOUNDS } from './families.ts';
import {
  histogram,
  keyOf,
  labels,
  otherDeployments,
  type DeploymentReport,
  type Sample,
  type Serves,
} from './report.ts';

const outcomeAt = Object.fromEntries(FAILURE_CODES.map((code, at) => [code, at + 1])) as Record<FailureCode, number>;
const OUTCOME_NAMES = ['ok', ...FAILURE_CODES];
const STATUS_CLASSES = 6;

/** Counters of one kind of invocation of one deployment. */
class KindCounters {
  cpuMs = 0;
  wallMs = 0;
  readonly outcomes = new Float64Array(OUTCOME_NAMES.length);
  readonly wall = new Float64Array(WALL_BOUNDS.length + 1);
  /** Number of responses by the first digit of their status; 0 means that no response was sent. */
  readonly statuses = new Float64Array(STATUS_CLASSES);

  add(other: KindCounters): void {
    this.cpuMs += other.cpuMs;
    this.wallMs += other.wallMs;
    for (const [at, count] of other.outcomes.entries()) this.outcomes[at]! += count;
    for (const [at, count] of other.wall.entries()) this.wall[at]! += count;
    for (const [at, count] of other.statuses.entries()) this.statuses[at]! += count;
  }

  report(prefix: string, kind: string): Sample[] {
    const samples: Sample[] = [[`${prefix}_cpu_milliseconds_total`, labels({ kind }), this.cpuMs]];
    for (const [at, count] of this.outcomes.entries()) {
      if (count > 0)
        samples.push([`${prefix}_invocations_total`, labels({ kind, outcome: OUTCOME_NAMES[at]! }), count]);
    }
    for (const [at, count] of this.statuses.entries()) {
      if (at > 0 && count > 0) samples.push([`${prefix}_responses_total`, labels({ status: `${at}xx` }), count]);
    }
    samples.push(...histogram(`${prefix}_wall_milliseconds`, labels({ kind }), WALL_BOUNDS, this.wall, this.wallMs));
    return samples;
  }
}

/** Usage of one deployment on this engine. */
export class DeploymentCounters {
  readonly id: string;
  readonly project: string;
  readonly serves: Serves | undefined;
  /** Number of routes that currently use the object; only {@link EngineCounters} changes it. */
  holders = 0;
  /** Whether the deployment is reported by name. This is decided once, so that no metric jumps. */
  isNamed: boolean | null = null;
  /** Thread CPU of all entries. */
  entryCpuMs = 0;
  /** Host CPU for the deployment, attributed or not. */
  hostCpuMs = 0;
  /** CPU of entries in which no invocation ran. */
  idleCpuMs = 0;
  readonly #http = new KindCounters();
  readonly #others = new Map<InvocationKind, KindCounters>();

  constructor(id: string, project: string, serves?: Serves) {
    this.id = id;
    this.project = project;
    this.serves = serves;
  }

  /** Called when an invocation has ended. @param status the status of the response, or 0 if there is none. */
  ended(kind: InvocationKind, outcome: Outcome, status: number, wallMs: number): void {
    const counters = kind === 'http' ? this.#http : this.#of(kind);
    if (status > 0 && status < 600) counters.statuses[(status / 100) | 0]!++;
    counters.outcomes[outcome.kind === 'ok' ? 0 : outcomeAt[outcome.code]]!++;
    counters.wallMs += wallMs;
    let at = 0;
    while (at < WALL_BOUNDS.length && wallMs > WALL_BOUNDS[at]!) at++;
    counters.wall[at]!++;
  }

  /** Called when CPU was charged to an invocation. */
  charge(kind: InvocationKind, cpuMs: number): void {
    (kind === 'http' ? this.#http : this.#of(kind)).cpuMs += cpuMs;
  }

  /** Charges host CPU to invocations of a kind, or to none if the kind is null. */
  chargeHost(kind: InvocationKind | null, cpuMs: number): void {
    this.hostCpuMs += cpuMs;
    if (kind === null) this.idleCpuMs += cpuMs;
    else this.charge(kind, cpuMs);
  }

  /** Called when an entry has ended. @param shareMs CPU that is charged to each invocation in it; 0 if none ran. */
  entered(cpuMs: number, shareMs: number): void {
    this.entryCpuMs += cpuMs;
    if (shareMs === 0) this.idleCpuMs += cpuMs;
  }

  #of(kind: InvocationKind): KindCounters {
    let counters = this.#others.get(kind);
    if (counters === undefined) this.#others.set(kind, (counters = new KindCounters()));
    return counters;
  }

  /** The kinds that have counts. */
  *kinds(): Generator<readonly [InvocationKind, KindCounters]> {
    if (this.#http.cpuMs > 0 || this.#http.outcomes.some((count) => count > 0)) yield ['http', this.#http];
    yield* this.#others;
  }

  /** Adds the counts of another counter. */
  add(other: DeploymentCounters): void {
    this.entryCpuMs += other.entryCpuMs;
    this.hostCpuMs += other.hostCpuMs;
    this.idleCpuMs += other.idleCpuMs;
    for (const [kind, counters] of other.kinds()) (kind === 'http' ? this.#http : this.#of(kind)).add(counters);
  }

  /** CPU by kind, of all entries, and of all host work, in ms, as shown in the status. */
  ledger(): Readonly<Record<string, number>> {
    const ledger: Record<string, number> = {};
    for (const [kind, { cpuMs }] of this.kinds()) ledger[kind] = cpuMs;
    return { ...ledger, none: this.idleCpuMs, entries: this.entryCpuMs, host: this.hostCpuMs };
  }

  report(prefix: string): Sample[] {
    const samples: Sample[] = [];
    for (const [kind, counters] of this.kinds()) samples.push(...counters.report(prefix, kind));
    samples.push([`${prefix}_cpu_milliseconds_total`, labels({ kind: 'none' }), this.idleCpuMs]);
    return samples;
  }
}

/** Counts of calls by name, in an array that the wrapped functions increase. */
class CallCounters {
  readonly #names: string[] = [];
  readonly #counts: number[] = [];

  /** Wraps functions so that each counts its calls. */
  count<Arguments extends unknown[], Result>(
    functions: Readonly<Record<string, (...given: Arguments) => Result>>,
  ): Record<string, (...given: Arguments) => Result> {
    return Object.fromEntries(Object.entries(functions).map(([name, call]) => [name, this.#counted(name, call)]));
  }

  #counted<Arguments extends unknown[], Result>(
    name: string,
    call: (...given: Arguments) => Result,
  ): (...given: Arguments) => Result {
    let at = this.#names.indexOf(name);
    if (at < 0) {
      at = this.#names.push(name) - 1;
      this.#counts.push(0);
    }
    const counts = this.#counts;
    return (...given) => {
      counts[at]!++;
      return call(...given);
    };
  }

  report(): Sample[] {
    return this.#names.flatMap((name, at): Sample[] =>
      this.#counts[at]! > 0 ? [['platform_host_calls_total', labels({ name }), this.#counts[at]!]] : [],
    );
  }
}

/** Everything an engine counts. */
export class EngineCounters {
  readonly calls = new CallCounters();
  /** Number of requests that files have answered, and of requests without a route or an artifact. */
  assetRequests = 0;
  unroutedRequests = 0;
  refusedRequests = 0;
  restartedRequests = 0;
  isolatesStarted = 0;
  isolatesEvicted = 0;
  isolatesCondemned = 0;
  isolatesOutOfMemory = 0;
  isolatesFaulty = 0;
  entries = 0;
  #joined = new Float64Array(JOIN_BOUNDS.length + 1);
  #joinedRequests = 0;
  #deploymentsMax: number;
  #deployments = new Map<string, DeploymentCounters>();
  /** Totals of closed deployments that are reported by name. */
  #left = new DeploymentCounters('', '');
  /** Totals of deployments that are not reported by name. */
  #leftUnnamed = new DeploymentCounters('', '');
  #named = 0;

  /** @param options.deploymentsMax how many deployments are reported by name. */
  constructor(options: { readonly deploymentsMax: number }) {
    this.#deploymentsMax = options.deploymentsMax;
  }

  /** Opens the counters of a deployment. Call `close` when it is no longer served. */
  open(id: string, project: string, serves?: Serves): DeploymentCounters {
    const key = keyOf(id, serves);
    let counters = this.#deployments.get(key);
    if (counters === undefined) this.#deployments.set(key, (counters = new DeploymentCounters(id, project, serves)));
    counters.holders++;
    return counters;
  }

  close(counters: DeploymentCounters): void {
    if (--counters.holders > 0) return;
    this.#deployments.delete(keyOf(counters.id, counters.serves));
    this.#left.add(counters);
    if (counters.isNamed === true) this.#named--;
    else this.#leftUnnamed.add(counters);
  }

  /** Counts an entry with this many new requests. */
  entered(requests: number): void {
    this.entries++;
    if (requests === 0) return;
    this.#joinedRequests += requests;
    // Bucket limits are powers of two: 1 is the first bucket, 2 the second, 3 and 4 the third.
    this.#joined[Math.min(JOIN_BOUNDS.length, 32 - Math.clz32(requests - 1))]!++;
  }

  /**
   * Number of requests that entered, and of entries with at least one request, which shows how many requests are
   * joined.
   */
  get joined(): { readonly entries: number; readonly requests: number } {
    return { entries: this.#joined.reduce((sum, count) => sum + count, 0), requests: this.#joinedRequests };
  }

  #all(): DeploymentCounters {
    const all = new DeploymentCounters('', '');
    all.add(this.#left);
    for (const counters of this.#deployments.values()) all.add(counters);
    return all;
  }

  /** CPU of all deployments by kind, in ms. */
  ledger(): Readonly<Record<string, number>> {
    return this.#all().ledger();
  }

  /** Returns the counters as samples. */
  report(): Sample[] {
    const all = this.#all();
    const shed = [...all.kinds()].reduce(
      (sum, [, { outcomes }]) => sum + outcomes[outcomeAt.overloaded]! + outcomes[outcomeAt.draining]!,
      0,
    );
    const without = 'platform_requests_without_worker_total';
    return [
      ...all.report('platform'),
      ['platform_entry_cpu_milliseconds_total', '', all.entryCpuMs],
      ['platform_host_cpu_milliseconds_total', '', all.hostCpuMs],
      ['platform_requests_shed_total', '', shed],
      ['platform_requests_restarted_total', '', this.restartedRequests],
      [without, labels({ by: 'asset' }), this.assetRequests],
      [without, labels({ by: 'no_route' }), this.unroutedRequests],
      [without, labels({ by: 'refused' }), this.refusedRequests],
      ['platform_entries_total', '', this.entries],
      ...histogram('platform_entry_requests', '', JOIN_BOUNDS, this.#joined, this.#joinedRequests),
      ...this.calls.report(),
      ['platform_isolates_started_total', '', this.isolatesStarted],
      ['platform_isolates_evicted_total', '', this.isolatesEvicted],
      ['platform_isolates_condemned_total', '', this.isolatesCondemned],
      ['platform_isolates_lost_total', labels({ reason: 'memory' }), this.isolatesOutOfMemory],
      ['platform_isolates_lost_total', labels({ reason: 'fault' }), this.isolatesFaulty],
    ];
  }

  /** The first deployments are reported by name, and the others together. */
  deployments(): DeploymentReport[] {
    const reports: DeploymentReport[] = [];
    const others = new DeploymentCounters(otherDeployments.id, otherDeployments.project);
    others.add(this.#leftUnnamed);
    for (const counters of this.#deployments.values()) {
      if (counters.kinds().next().done === true) continue;
      if (counters.isNamed === null) {
        counters.isNamed = this.#named < this.#deploymentsMax;
        if (counters.isNamed) this.#named++;
      }
      if (counters.isNamed) reports.push(deploymentReport(counters));
      else others.add(counters);
    }
    if (others.kinds().next().done !== true) reports.push(deploymentReport(others));
    return reports;
  }
}

function deploymentReport(counters: DeploymentCounters): DeploymentReport {
  const { id, project, serves } = counters;
  return { id, project, ...(serves !== undefined && { serves }), counters: counters.report('platform_deployment') };
}
