// One event being served, on the host: who waits for it, what it has used, how it ended. Made per request, so it holds plain
// fields and no closures.
import { PlatformError } from '#core/errors.ts';
import type { InvocationKind } from '#core/plans.ts';
import type { InvocationIds } from './invocation-id.ts';
import type { Outcome } from './outcome.ts';
import { traceFrom, type TraceContext } from './trace.ts';

/** How far an invocation is. `answered`: the response is out, `waitUntil` or its stream goes on. */
export type Phase = 'waiting' | 'running' | 'answered' | 'over';

/** @template Answer what the response goes to. */
export class Invocation<Answer> {
  /** Number in its isolate, while it runs. */
  id = 0;
  phase: Phase = 'waiting';
  readonly kind: InvocationKind;
  readonly answer: Answer;
  /** `performance.now()` when it came in. */
  readonly startedAt: number;
  status = 0;
  cpuMs = 0;
  /** Set by a charge of its own in the running entry: then the entry's share is not added. */
  charged = false;
  /** Host calls made: an invocation that made none has had no effect and may run again. */
  calls = 0;
  subrequests = 0;
  /** Times it was started again after its isolate went. */
  restarts = 0;
  /** Its response is an open WebSocket: the wall limit begins when that is closed. */
  isSocketOpen = false;
  /** From when its wall time counts, in ms of `performance.now()`. */
  wallFrom: number;
  outcome: Outcome | null = null;
  #subrequestsMax: number;
  #ids: InvocationIds;
  #number: number;
  #trace: TraceContext | null | undefined = undefined;
  #atEnd: (() => void)[] | null = null;

  constructor(ids: InvocationIds, kind: InvocationKind, answer: Answer, startedAt: number, subrequestsMax: number) {
    this.#ids = ids;
    this.#number = ++ids.last;
    this.kind = kind;
    this.answer = answer;
    this.startedAt = startedAt;
    this.wallFrom = startedAt;
    this.#subrequestsMax = subrequestsMax;
  }

  /** Unique over all engines: what the log calls it. */
  get uid(): string {
    return this.#ids.prefix + this.#number;
  }

  /** The trace its request belongs to; read when somebody asks for it. */
  get trace(): TraceContext | null {
    if (this.#trace === undefined) {
      const { headerBlock } = this.answer as { readonly headerBlock?: string };
      this.#trace = headerBlock === undefined ? null : traceFrom(headerBlock);
    }
    return this.#trace;
  }

  /** Host that the request came to; null for an event that is none. */
  host(): string | null {
    return (this.answer as { readonly host?: string }).host ?? null;
  }

  countSubrequest(): void {
    this.subrequests++;
    if (this.subrequests > this.#subrequestsMax) throw new PlatformError('subrequest_limit_exceeded', { limit: this.#subrequestsMax });
  }

  atEnd(run: () => void): void {
    if (this.phase === 'over') run();
    else (this.#atEnd ??= []).push(run);
  }

  /** It is over: nothing of it goes on. */
  close(): void {
    this.phase = 'over';
    if (this.#atEnd === null) return;
    for (const run of this.#atEnd) run();
    this.#atEnd = null;
  }
}
