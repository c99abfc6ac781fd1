// What is said of an event where people read: its name, which attempt it is, and what its handler threw although there
// is a result, since a broker needs to know what became of each message all the same. Used by deployment.ts for the
// log. Pure.
import type { EventKind } from '#core/event.ts';

/** One event, for people. */
export interface EventRecord {
  /** The queue, the timer's binding, the schedule or the workflow. */
  readonly name: string;
  /** The timer or the run; empty for others. */
  readonly id: string;
  /** Of the message, or the first of several. */
  readonly attempt: number;
  /** Attempts it may have; 0 where nobody said so. */
  readonly attemptsMax: number;
}

/** A tenant's words are read on the engine's main thread up to here. */
const PARSED_CHARS_MAX = 1024 * 1024;
const nameField = { queue: 'queueName', timer: 'binding', cron: 'name', workflow: 'workflow' } as const;
const idField = { queue: '', timer: 'id', cron: '', workflow: 'executionId' } as const;

/** @param head of an event, in the shape of guest/events/, with what broker/ says beside. */
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
 * What the handler threw, by the result of its event; null when it did not. The result is a tenant's word, and may be
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
