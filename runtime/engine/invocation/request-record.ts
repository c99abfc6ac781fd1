// The record of an ended invocation, for the log and the recent invocations (process/). Types only.
import type { InvocationKind } from '#core/plans.ts';
import type { EventRecord } from './event-record.ts';
import type { Outcome } from './outcome.ts';

/** An invocation that has ended. */
export interface RequestRecord {
  readonly kind: InvocationKind;
  /** Id of the invocation. */
  readonly invocation: string;
  readonly traceId: string | null;
  /** The request id from a trusted proxy; null otherwise. */
  readonly requestId: string | null;
  readonly deployment: string;
  readonly project: string;
  /** Method of a request; empty for other events. */
  readonly method: string;
  readonly target: string;
  /** Status of the response; 0 for events other than requests. */
  readonly status: number;
  /** The description of an event other than a request. */
  readonly event: EventRecord | null;
  readonly outcome: Outcome;
  readonly cpuMs: number;
  readonly wallMs: number;
}
