// Telemetry of an engine's workers (core/telemetry.ts): log lines, invocations and spans, within each project's limits.
// main.ts sends the texts to the supervisor once a second; this code never waits, and does not parse the texts again.
import { performance } from 'node:perf_hooks';
import { errorMessage } from '#core/errors.ts';
import type { TelemetryLimits } from '#core/limits.ts';
import {
  spanKinds,
  type InvocationRecord,
  type LineRecord,
  type RequestDetails,
  type SpanAttributes,
  type SpanKind,
  type SpanRecord,
  type TelemetryRecord,
} from '#core/telemetry.ts';
import { isHttp, type AnyInvocation } from '../invocation/invocation.ts';
import type { Exchange } from '../http/listener.ts';
import type { LogLine } from '../invocation/log.ts';
import { isFailure, outcomeLabel, type Outcome } from '../invocation/outcome.ts';
import { routeOf } from '../metrics/routes.ts';
import { Allowance } from './allowance.ts';
import { newSpanId, newTraceId } from '../tracing/invocation-spans.ts';
import { requestDetails } from './request-details.ts';

/** Maximum size of a batch, in characters. */
const TAKEN_CHARS_MAX = 4 * 1024 * 1024;
const PATH_CHARS_MAX = 1024;
const ERROR_CHARS_MAX = 1024;
/** Maximum number of projects whose allowance is kept. */
const PROJECTS_MAX = 10_000;
const IDLE_MS = 60_000;
/** Invocations of at least this wall time are recorded with priority. */
const SLOW_MS = 1000;
/** Matches lone surrogates, which are not valid in JSON for Postgres. */
const [NUL, NO_NUL] = ['\0', '\ufffd'];

/** The telemetry of one deployment. */
export interface DeploymentTelemetry {
  line(line: LogLine, invocation: AnyInvocation | null): void;
  /**
   * Called when an invocation has ended, at `now` of `performance.now()`. @param target the target of a request; `''`
   * for other events.
   */
  ended(invocation: AnyInvocation, outcome: Outcome, target: string, now: number): void;
  /** Whether to sample an invocation that continues no sampled trace. */
  samples(): boolean;
  /** Whether to sample a request that continues a trace. */
  continues(): boolean;
  span(span: Omit<SpanRecord, 'record' | 'project' | 'deployment'>): void;
}

/** Records that wait to be sent. */
export class TelemetryRecorder {
  /** Whether the control plane requests telemetry; otherwise, nothing is recorded. */
  isOn = true;
  #limits: TelemetryLimits;
  #sampleRate: number;
  #addressOf: (exchange: Exchange) => string;
  #allowances = new Map<string, Allowance>();
  #waiting: string[] = [];
  #chars = 0;

  /**
   * @param sampleRate share of invocations that are sampled, within `tracesPerSecond`.
   * @param addressOf returns the client's address, as reported by trusted proxies.
   */
  constructor(limits: TelemetryLimits, sampleRate: number, addressOf: (exchange: Exchange) => string) {
    this.#limits = limits;
    this.#sampleRate = sampleRate;
    this.#addressOf = addressOf;
  }

  open(project: string, deployment: string): DeploymentTelemetry {
    const of = { project, deployment };
    return {
      line: (line, invocation) => {
        if (!this.isOn) return;
        const { lineCharsMax } = this.#limits;
        const { length } = line.text;
        const chars = Math.min(length, lineCharsMax);
        const isGrave = line.level === 'error' || line.level === 'warn';
        if (!this.#allowance(project).line(chars, isGrave, performance.now())) return;
        const { level, traceId } = line;
        const text =
          length > lineCharsMax
            ? `${line.text.slice(0, lineCharsMax)} ... (${length - lineCharsMax} more characters)`
            : line.text;
        const kind = invocation?.kind ?? null;
        const route = invocation === null ? '' : routeOfInvocation(invocation);
        const own = { record: 'line', at: Date.now(), level, text: storable(text), kind, route } as const;
        this.#add({ ...own, ...of, invocation: line.invocation, traceId } satisfies LineRecord);
      },
      ended: (invocation, outcome, target, now) => {
        if (!this.isOn) return;
        const hasFailed = isFailure(outcome, invocation.status);
        // A WebSocket may be open for long, but is not slow.
        const isSlow = now - invocation.startedAt >= SLOW_MS && invocation.status !== 101;
        const isKept = this.#allowance(project).invocation(hasFailed, isSlow, now);
        if (!isKept && invocation.spans === null) return;
        const record = invocationRecord(invocation, outcome, target, now);
        const { wallMs } = record;
        const { name, kind, error, attributes } = rootSpan(record, hasFailed);
        if (invocation.spans !== null) invocation.spans.end(name, kind, error, attributes);
        if (!isKept) return;
        const hasTrace = invocation.spans !== null || this.#sampleRate === 0;
        const whole = { ...record, ...of, request: this.#requestOf(invocation) };
        if (hasTrace || !(hasFailed || isSlow)) return this.#add(whole);
        // A failed or slow invocation gets a trace of one span even if it was not sampled.
        const traceId = invocation.trace?.traceId ?? newTraceId();
        const own = { spanId: newSpanId(), parentId: invocation.trace?.parentId ?? null, isRoot: true, links: [] };
        const { at, invocation: id } = record;
        this.#add({ ...whole, traceId });
        const span = { ...of, ...own, traceId, at, ms: wallMs, name, kind, error, attributes, invocation: id };
        this.#span(project, span, hasFailed);
      },
      samples: () => this.isOn && Math.random() < this.#sampleRate && this.#allowance(project).trace(performance.now()),
      continues: () => this.isOn && this.#sampleRate > 0,
      span: (span) => this.#span(project, { ...of, ...span }, span.error !== null),
    };
  }

  /** Texts to send, one record per line, and the number of dropped records by project; empty if there are none. */
  take(): string {
    const now = performance.now();
    for (const [project, allowance] of this.#allowances) {
      const { dropped } = allowance;
      if (dropped.lines + dropped.invocations + dropped.spans > 0)
        this.#waiting.push(JSON.stringify({ record: 'dropped', project, deployment: '', at: Date.now(), ...dropped }));
      dropped.lines = dropped.invocations = dropped.spans = 0;
      if (now - allowance.usedAt > IDLE_MS) this.#allowances.delete(project);
    }
    let chars = 0;
    let count = 0;
    while (count < this.#waiting.length && chars < TAKEN_CHARS_MAX) chars += this.#waiting[count++]!.length + 1;
    const taken = this.#waiting.splice(0, count);
    this.#chars = this.#waiting.length === 0 ? 0 : this.#chars - chars;
    return taken.join('\n');
  }

  /** Called when the control plane does not request telemetry: stops recording, and discards waiting records. */
  stop(): void {
    this.isOn = false;
    this.#waiting = [];
    this.#chars = 0;
    this.#allowances.clear();
  }

  #requestOf(invocation: AnyInvocation): RequestDetails | null {
    if (!isHttp(invocation)) return null;
    const { answer: exchange, status } = invocation;
    return requestDetails(exchange, status, this.#addressOf(exchange));
  }

  #span(project: string, span: Omit<SpanRecord, 'record'>, hasFailed: boolean): void {
    if (this.isOn && this.#allowance(project).span(hasFailed, performance.now()))
      this.#add({ record: 'span', ...span });
  }

  #allowance(project: string): Allowance {
    let allowance = this.#allowances.get(project);
    if (allowance === undefined) {
      if (this.#allowances.size >= PROJECTS_MAX) this.#allowances.delete(this.#allowances.keys().next().value!);
      this.#allowances.set(project, (allowance = new Allowance(this.#limits, performance.now())));
    }
    return allowance;
  }

  #add(record: TelemetryRecord): void {
    if (this.#chars > this.#limits.heldBytesMax / 4) {
      const { dropped } = this.#allowance(record.project);
      if (record.record === 'line') dropped.lines++;
      else if (record.record === 'invocation') dropped.invocations++;
      else dropped.spans++;
      return;
    }
    const text = JSON.stringify(record);
    this.#waiting.push(text);
    this.#chars += text.length + 1;
  }
}

/** The route of a request; otherwise the name of the queue, the timer, the schedule or the workflow. */
function routeOfInvocation(invocation: AnyInvocation): string {
  if (!isHttp(invocation)) return storable(invocation.event?.name ?? '');
  return storable(routeOf(pathOf(invocation.answer.target)));
}

function invocationRecord(
  invocation: AnyInvocation,
  outcome: Outcome,
  target: string,
  now: number,
): Omit<InvocationRecord, 'project' | 'deployment' | 'request'> {
  const error = outcome.kind === 'ok' ? '' : errorMessage(outcome.code, outcome.details).split('\n', 1)[0]!;
  const wallMs = now - invocation.startedAt;
  const firstByteMs = isHttp(invocation) ? invocation.firstByteMs(now) : -1;
  return {
    record: 'invocation',
    at: Date.now() - wallMs,
    kind: invocation.kind,
    invocation: invocation.uid,
    traceId: invocation.trace?.traceId ?? null,
    method: isHttp(invocation) ? invocation.answer.method : '',
    path: storable(pathOf(target).slice(0, PATH_CHARS_MAX)),
    route: routeOfInvocation(invocation),
    status: invocation.status,
    outcome: outcomeLabel(outcome),
    error: storable(error.slice(0, ERROR_CHARS_MAX)),
    cpuMs: rounded(invocation.totalCpuMs),
    wallMs: rounded(wallMs),
    firstByteMs: firstByteMs < 0 ? null : rounded(firstByteMs),
  };
}

/** The attributes of an invocation's span, from its record. */
function rootSpan(
  record: Omit<InvocationRecord, 'project' | 'deployment' | 'request'>,
  hasFailed: boolean,
): {
  readonly name: string;
  readonly kind: SpanKind;
  readonly error: string | null;
  readonly attributes: SpanAttributes;
} {
  const { kind, method, path, route, status, outcome, cpuMs } = record;
  const reason = outcome === 'ok' ? `status ${status}` : `${outcome}: ${record.error}`;
  const error = hasFailed ? reason : null;
  const own = { 'platform.kind': kind, 'platform.outcome': outcome, 'platform.cpu_ms': cpuMs };
  if (kind === 'http') {
    const request = { 'http.request.method': method, 'http.route': route, 'url.path': path };
    const attributes = { ...own, ...request, 'http.response.status_code': status };
    return { name: `${method} ${route}`, kind: spanKinds.server, error, attributes };
  }
  const spanKind = kind === 'queue' ? spanKinds.consumer : spanKinds.internal;
  return { name: `${kind} ${route}`, kind: spanKind, error, attributes: { ...own, 'platform.name': route } };
}

/** Without the query. */
function pathOf(target: string): string {
  const end = target.indexOf('?');
  return end < 0 ? target : target.slice(0, end);
}

/** NUL is removed, because text in Postgres cannot contain it. */
function storable(text: string): string {
  return text.includes(NUL) ? text.replaceAll(NUL, NO_NUL) : text;
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
