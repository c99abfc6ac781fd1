// Describes an event for people: its name, its attempt, and the error that its handler threw. A handler that threw also
// has a result, because the broker needs one for each message. Used by serving/invocation-ends.ts. Pure.
import type { EventKind } from '#core/event.ts';

/** The description of one event. */
export interface EventRecord {
  /** Name of the queue, the timer's binding, the schedule or the workflow. */
  readonly name: string;
  /** Id of the timer or the run; empty for other events. */
  readonly id: string;
  /** Attempt of the message, or of the first of several messages. */
  readonly attempt: number;
  /** Maximum number of attempts; 0 if unknown. */
  readonly attemptsMax: number;
}

/** Up to this size, a tenant's data is parsed on the engine's main thread. */
const PARSED_CHARS_MAX = 1024 * 1024;
const nameField = { queue: 'queueName', timer: 'binding', cron: 'name', workflow: 'workflow' } as const;
const idField = { queue: '', timer: 'id', cron: '', workflow: 'executionId' } as const;

/** @param head the head of an event, in the shape of guest/events/, with additions of broker/. */
export function eventRecord(kind: EventKind, head: string): EventRecord {
  const fields = (JSON.parse(head) ?? {}) as Readonly<Record<string, unknown>>;
  const [first] =
    kind === 'queue' && Array.isArray(fields['messages']) ? (fields['messages'] as { attempt?: unknown }[]) : [fields];
  const text = (name: string): string => String(fields[name] ?? '');
  return {
    name: text(nameField[kind]),
    id: text(idField[kind]),
    attempt: count(first?.['attempt'], 1),
    attemptsMax: count(fields['attemptsMax'], 0),
  };
}

function count(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isInteger(value) ? value : otherwise;
}

/**
 * The error that the handler threw, from the result of its event, or null. The result comes from a tenant, and may be
 * long.
 *
 * @example thrownIn('{"acked":[],"retry":[{"id":"m1","error":"no"}],"thrown":"no"}') // 'no'
 */
export function thrownIn(result: string | null): string | null {
  if (result === null || !(result.includes('"thrown":') || result.startsWith('{"status":"failed"'))) return null;
  if (result.length > PARSED_CHARS_MAX) return 'what it threw is in the log';
  const { thrown, status, error } = (JSON.parse(result) ?? {}) as {
    thrown?: unknown;
    status?: unknown;
    error?: { message?: unknown };
  };
  if (thrown !== undefined) return String(thrown);
  return status === 'failed' ? String(error?.message ?? 'The run failed') : null;
}
