// The broker's work on claimed messages: groups the messages of one sender and delivers them. Then each message is
// acknowledged, retried later, or moved to the dead letters.
import type { EventContent } from '#core/event.ts';
import { deadLettersOf, retryDelayMs, type QueueSettings } from '#core/queue-settings.ts';
import type { LaneAdvice, Work } from '#postgres/claim-loop.ts';
import type { Wake } from '#postgres/wake.ts';
import { persist, tryDeliver, type WorkDeps } from '../delivery/delivery.ts';

/** A claimed message from the store. */
export interface Message {
  readonly seq: number;
  readonly lane_id: number;
  readonly lease: string;
  readonly room: number;
  readonly attempt: number;
  readonly namespace: string;
  readonly resource: string;
  readonly message_id: string;
  /** The body as its sender encoded it. */
  readonly payload: string;
  readonly sent_at: number;
  readonly expires_at: number;
  readonly ordering_key: string | null;
  readonly project: string;
  readonly branch: string;
  readonly binding: string;
  /** The trace of its sender, or null. */
  readonly trace?: string | null;
}

/** The methods of the store that are used here. */
export interface QueueLedger<Row extends Message> {
  readonly claims: { release(row: Row, dueAt: number, counted: boolean): Promise<boolean> };
  acknowledge(rows: readonly Row[]): Promise<void>;
  deadLetter(row: Row, reason: string, now: number, deadLetter: string | null): Promise<void>;
}

const LANE_REST_MS_MAX = 1000;

interface Verdicts {
  readonly acked?: readonly string[];
  /** `final`: not retryable. */
  readonly retry?: readonly {
    readonly id: string;
    readonly delaySeconds?: number;
    readonly error?: string;
    readonly final?: boolean;
  }[];
}

export function createQueueWork<Row extends Message>(deps: WorkDeps, ledger: QueueLedger<Row>, wake: Wake): Work<Row> {
  const { limits, now } = deps;

  async function again(row: Row, dueAt: number, counted: boolean): Promise<void> {
    if (await persist(() => ledger.claims.release(row, dueAt, counted))) wake.notify('queue', row.lane_id, dueAt);
  }

  function settingsOf({ namespace, resource }: Row): QueueSettings {
    const queues = deps.queues?.(namespace) ?? {};
    return Object.hasOwn(queues, resource) ? (queues[resource] as QueueSettings) : {};
  }

  async function fail(
    row: Row,
    reason: string,
    { delayMs, final = false }: { delayMs?: number; final?: boolean } = {},
  ): Promise<void> {
    const queues = deps.queues?.(row.namespace) ?? {};
    const settings = settingsOf(row);
    const usual = final ? null : retryDelayMs(settings, limits, row.attempt, deps.random);
    if (usual !== null) return again(row, now() + (delayMs ?? usual), true);
    deps.onEvent('warn', 'message moved to dead letters', about(row, { reason }));
    await persist(() => ledger.deadLetter(row, reason, now(), deadLettersOf(queues, row.resource)));
  }

  async function run(rows: readonly Row[], signal: AbortSignal): Promise<LaneAdvice> {
    const expired = rows.filter(({ expires_at: at }) => at <= now());
    if (expired.length > 0) {
      deps.onEvent('warn', 'messages expired', about(expired[0]!, { messages: expired.length }));
      await persist(() => ledger.acknowledge(expired));
      if (expired.length === rows.length) return { more: true };
    }
    const live = expired.length === 0 ? rows : rows.filter((row) => !expired.includes(row));
    const first = live[0]!;
    const delivered = await tryDeliver(
      deps,
      { ...first, kind: 'queue' },
      toEvent(live, 1 + (settingsOf(first).maxRetries ?? limits.retries)),
      signal,
    );
    const more = live.some(({ ordering_key: key }) => key !== null);
    if (delivered.kind === 'refused') {
      deps.onEvent('info', 'no consumer for messages', about(first, { messages: live.length, code: delivered.code }));
      const others = deps.othersMayTake === true;
      for (const row of live) await again(row, now() + (others ? 0 : delivered.restMs), false);
      if (others) return { restMs: Math.min(delivered.restMs, LANE_REST_MS_MAX) };
      // Messages of other senders in this lane may have a consumer, so they wait only briefly.
      return { restMs: Math.min(delivered.restMs, LANE_REST_MS_MAX) };
    }
    if (delivered.kind === 'failed') {
      deps.onEvent(
        'warn',
        'message delivery failed',
        about(first, { messages: live.length, reason: delivered.reason }),
      );
      for (const row of live) await fail(row, delivered.reason);
      return { more };
    }
    const { acked = [], retry = [] } = (delivered.result ?? {}) as Verdicts;
    const done = new Set(acked);
    const retries = new Map(retry.map((one) => [one.id, one]));
    await persist(() => ledger.acknowledge(live.filter((row) => done.has(row.message_id))));
    for (const row of live) {
      if (done.has(row.message_id)) continue;
      const asked = retries.get(row.message_id);
      // The delay is an integer, because the database does not accept fractions of a millisecond.
      const delayMs =
        asked?.delaySeconds === undefined
          ? undefined
          : Math.round(Math.min(Math.max(0, asked.delaySeconds) * 1000, limits.delayMsMax));
      const reason = asked?.error ?? 'The handler requested a retry';
      await fail(row, reason, { ...(delayMs === undefined ? {} : { delayMs }), final: asked?.final === true });
    }
    return { more };
  }

  return { run, group: (rows) => groupMessages(rows, limits.deliveryMessagesMax) };
}

/**
 * Groups messages by queue and sender. A retried message is delivered alone, so that its neighbors do not fail with it
 * twice.
 */
function groupMessages<Row extends Message>(rows: readonly Row[], most: number): Row[][] {
  const open = new Map<string, Row[]>();
  const groups: Row[][] = [];
  for (const row of rows) {
    const key = JSON.stringify([row.lane_id, row.project, row.branch, row.binding]);
    let group = row.attempt > 1 ? undefined : open.get(key);
    if (group === undefined || group.length >= most) {
      groups.push((group = []));
      if (row.attempt === 1) open.set(key, group);
    }
    group.push(row);
  }
  return groups;
}

function toEvent(rows: readonly Message[], attemptsMax: number): EventContent {
  const { resource: queueName, binding } = rows[0]!;
  const messages = rows.map(({ message_id: id, attempt, sent_at: timestamp }) => ({ id, attempt, timestamp }));
  return {
    head: JSON.stringify({ queueName, binding, attemptsMax, messages }),
    bodies: rows.map(({ payload }) => payload),
    traces: [...new Set(rows.flatMap(({ trace }) => trace ?? []))],
  };
}

function about(row: Message, fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { namespace, resource: queue, project, message_id: message, attempt } = row;
  return { namespace, queue, project, message, attempt, ...fields };
}
