// The outbox: messages that workers send inside a transaction of their database are stored in a table of this database.
// After the commit, the engine that served the transaction moves them to their queues. If that engine has died, the
// sweep of another engine does this. The queue remembers each row's id, so that a row that is moved twice is stored as
// one message.
import { outboxOps, SqlRefusal } from '#core/database-request.ts';
import type { OutboxMessage } from '#core/database-outbox.ts';
import { fixedLimits } from '#core/limits.ts';
import { ofPreview, previewIn } from '#core/preview.ts';
import type { DatabaseStore } from '../engine/bindings/database.ts';
import type { DatabasePlace } from '../engine/bindings/scope.ts';
import type { Outbox } from '../engine/bindings/outbox.ts';
import type { EventSender, NewMessage, QueuePlace, QueueStore } from '../engine/bindings/queue.ts';
import type { OutboxIndex, OutboxPlace } from './outbox-index-sql.ts';

/** Dependencies of an outbox. */
export interface OutboxDeps {
  readonly databases: DatabaseStore;
  readonly queue: Pick<QueueStore, 'send'>;
  readonly index: OutboxIndex;
  readonly limits: { readonly outboxSweepMs: number; readonly delayMsMax: number };
  /** Whether the databases of a namespace belong to a project, because a row may have been forged. */
  owns(namespace: string, project: string): boolean;
  readonly now: () => number;
  readonly log: (level: 'warn', message: string) => void;
}

/** A running outbox. */
export interface RunningOutbox extends Outbox {
  /**
   * Checks all due databases of the index; resolves when all are checked. @param all whether rows that are not due yet
   * are also checked.
   */
  sweep(all?: boolean): Promise<void>;
  /** Stops the sweeps; pending work finishes or fails. */
  close(): Promise<void>;
}

interface Drain {
  again: boolean;
  done: Promise<void>;
}

/** The first sweep is delayed, so that the start does not wait for it. */
const FIRST_SWEEP_MS = 500;
const RETRY_MS = 250;
/** Number of databases that are read from the index at a time, and that are emptied concurrently. */
const SWEEP_PLACES = 100;
const SWEEP_TOGETHER = 8;
/**
 * Added to the idle time after which a database is removed from the index, because a transaction may still be in
 * progress.
 */
const LINGER_MS = 60_000;
const MARKS_KEPT = 10_000;
const { messageNameBytesMax } = fixedLimits.events;
/** As in `carriedTrace`. */
const TRACE = /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/;

export function createOutbox({ databases, queue, index, limits, owns, now, log }: OutboxDeps): RunningOutbox {
  const { outboxSweepMs: sweepMs } = limits;
  /** When this process last wrote each database to the index, by the monotonic clock. */
  const marks = new Map<string, number>();
  const touching = new Map<string, Promise<void>>();
  const drains = new Map<string, Drain>();
  /** Databases that are being emptied after a commit, and whether there was another commit since. */
  const wanted = new Map<string, boolean>();
  const stop = Promise.withResolvers<void>();
  let closed = false;
  let sweeping: Promise<void> | null = null;
  let timer = setTimeout(() => tick(true), FIRST_SWEEP_MS).unref();

  function tick(all: boolean): void {
    sweep(all)
      .catch(() => {
        // The store is temporarily unavailable.
      })
      .finally(() => {
        // The interval has jitter, so that engines that started together do not sweep together.
        if (!closed) timer = setTimeout(() => tick(false), sweepMs * (0.75 + Math.random() / 2)).unref();
      });
  }

  async function mark(place: DatabasePlace): Promise<void> {
    const name = nameOf(place);
    const age = performance.now() - (marks.get(name) ?? -Infinity);
    if (age < sweepMs) return;
    let touched = touching.get(name);
    if (touched === undefined) {
      touched = touch(place, name).finally(() => touching.delete(name));
      touching.set(name, touched);
    }
    // A recent entry is still valid, and a store that is temporarily unavailable must not block writes.
    if (age < 4 * sweepMs) touched.catch(() => {});
    else await touched;
  }

  async function touch(place: DatabasePlace, name: string): Promise<void> {
    const at = performance.now();
    await index.touch(place, now(), now() + sweepMs);
    if (marks.size >= MARKS_KEPT) marks.clear();
    marks.set(name, at);
  }

  async function ask(place: DatabasePlace, op: number, args: unknown): Promise<Record<string, unknown>> {
    const answer = JSON.parse((await databases.run(place, op, 0, JSON.stringify(args))) as string) as Record<
      string,
      unknown
    >;
    const refusal = answer['e'] as [string, string] | undefined;
    if (refusal !== undefined) throw new SqlRefusal(...refusal);
    return answer;
  }

  /** Moves all messages of an outbox to their queues. */
  async function empty(place: DatabasePlace): Promise<void> {
    for (let last: unknown = null; !closed;) {
      const rows = (await ask(place, outboxOps.pending, []))['rows'] as [id: unknown, message: unknown][];
      const [oldest] = rows;
      if (oldest === undefined) return;
      const first = JSON.stringify(oldest[0]);
      if (first === last) throw new Error('its rows cannot be deleted');
      last = first;
      await pass(place, rows);
      await ask(place, outboxOps.dequeue, [rows.map(([id]) => id)]);
    }
  }

  /** Sends rows. Rows of one sender for one queue are sent together. */
  async function pass(
    place: DatabasePlace,
    rows: readonly (readonly [id: unknown, message: unknown])[],
  ): Promise<void> {
    const time = now();
    const groups = new Map<string, { to: QueuePlace; sender: EventSender; messages: NewMessage[] }>();
    for (const [id, text] of rows) {
      const row = typeof id === 'string' && id.length <= messageNameBytesMax ? toMessage(text) : null;
      if (row === null || !owns(place.namespace, row.project)) {
        log('warn', `outbox of database ${nameOf(place)}: invalid message dropped`);
        continue;
      }
      const { resource, project, branch, binding, payload, dueAt, dedupeId, orderingKey, trace = null } = row;
      const key = JSON.stringify([resource, project, branch, binding, trace]);
      let group = groups.get(key);
      if (group === undefined) {
        const sender = { project, branch, binding, trace };
        // Messages of a preview's database are for the queues of its branch.
        const namespace = ofPreview(place.namespace, previewIn(place.resource));
        groups.set(key, (group = { to: { namespace, resource }, sender, messages: [] }));
      }
      // If the worker set no dedupe id, the row's own id is used, so that a row that is moved twice is stored once.
      group.messages.push({ id: id as string, payload, dueAt, dedupeId: dedupeId ?? (id as string), orderingKey });
    }
    for (const { to, sender, messages } of groups.values()) await queue.send(to, sender, messages, time);
  }

  function toMessage(text: unknown): OutboxMessage | null {
    try {
      const message = JSON.parse(text as string) as OutboxMessage;
      const { resource, project, branch, binding, payload, dueAt, dedupeId, orderingKey, trace } = message;
      const names = [resource, project, branch, binding, dedupeId ?? '-', orderingKey ?? '-'];
      if (!names.every(isName) || typeof payload !== 'string' || !Number.isSafeInteger(dueAt)) return null;
      if (trace !== undefined && !(typeof trace === 'string' && TRACE.test(trace))) return null;
      // This is only needed for forged rows, because the guest encodes the messages of a worker.
      JSON.parse(payload);
      // The time is limited, because the clock may have been set back since.
      return { ...message, dueAt: Math.min(dueAt, now() + limits.delayMsMax) };
    } catch {
      return null;
    }
  }

  function drain(place: DatabasePlace): Promise<void> {
    const name = nameOf(place);
    const running = drains.get(name);
    if (running !== undefined) {
      running.again = true;
      return running.done;
    }
    const state: Drain = { again: true, done: Promise.resolve() };
    drains.set(name, state);
    state.done = (async () => {
      try {
        while (state.again && !closed) {
          state.again = false;
          await empty(place);
        }
      } finally {
        drains.delete(name);
      }
    })();
    return state.done;
  }

  /** Called after a commit: retries until the next sweep. */
  async function drainPatiently(place: DatabasePlace): Promise<void> {
    const name = nameOf(place);
    const isAtWork = wanted.has(name);
    wanted.set(name, true);
    if (isAtWork) return;
    let delayMs = RETRY_MS;
    while (wanted.get(name) === true && !closed) {
      wanted.set(name, false);
      try {
        await drain(place);
        continue;
      } catch (error) {
        if (delayMs > sweepMs) {
          log('warn', `Messages of database ${name} wait in its outbox: ${(error as Error).message}`);
          break;
        }
      }
      wanted.set(name, true);
      await pause(delayMs);
      delayMs *= 2;
    }
    wanted.delete(name);
  }

  async function pause(ms: number): Promise<void> {
    const over = Promise.withResolvers<void>();
    const waiting = setTimeout(over.resolve, ms).unref();
    await Promise.race([over.promise, stop.promise]);
    clearTimeout(waiting);
  }

  async function look(place: OutboxPlace): Promise<void> {
    try {
      await drain(place);
      if (place.touchedAt < now() - 8 * sweepMs - LINGER_MS) await index.drop(place);
    } catch (error) {
      if (!closed)
        log('warn', `The outbox of database ${nameOf(place)} cannot be emptied: ${(error as Error).message}`);
    }
  }

  async function lookAtAll(all: boolean): Promise<void> {
    // The time is later than that of a database that was written in this millisecond, so that a full check includes it.
    const next = now() + sweepMs + 1;
    const until = all ? next - 1 : now();
    while (!closed) {
      const places = await index.due(until, next, SWEEP_PLACES);
      for (let at = 0; at < places.length && !closed; at += SWEEP_TOGETHER)
        await Promise.all(places.slice(at, at + SWEEP_TOGETHER).map(look));
      if (places.length < SWEEP_PLACES) return;
    }
  }

  function sweep(all = false): Promise<void> {
    sweeping ??= lookAtAll(all).finally(() => (sweeping = null));
    return sweeping;
  }

  return {
    async put(place, transaction, { resource }, { project, branch, binding, trace = null }, ...messages) {
      await mark(place);
      const rows = messages.flatMap(({ id, payload, dueAt, dedupeId, orderingKey }) => {
        const own = { resource, project, branch, binding, payload, dueAt, dedupeId, orderingKey };
        const message: OutboxMessage = trace === null ? own : { ...own, trace };
        return [id, JSON.stringify(message)];
      });
      return (await databases.run(place, outboxOps.enqueue, transaction, JSON.stringify(rows))) as string;
    },
    committed: (place) => void drainPatiently(place),
    sweep,
    async close() {
      closed = true;
      clearTimeout(timer);
      stop.resolve();
      await Promise.allSettled([sweeping, ...[...drains.values()].map(({ done }) => done)]);
    },
  };
}

function nameOf({ namespace, resource }: DatabasePlace): string {
  return `${namespace}/${resource}`;
}

function isName(value: unknown): value is string {
  return (
    typeof value === 'string' && value !== '' && value.length <= 200 && !value.includes('\0') && value.isWellFormed()
  );
}
