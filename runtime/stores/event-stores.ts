// Queues, timers, cron and workflows over one database. Opened by the main modules, with event-stores-postgres.ts or
// event-stores-sqlite.ts: the engine adds workers' messages and timers, the broker claims them.
import type { DeliveryLimits } from '#core/limits.ts';
import { previewSeparator } from '#core/preview.ts';
import { whereThereIsSpace, type FreeSpace } from '#core/process/free-space.ts';
import type { StorageGuard } from '#core/storage-left.ts';
import type { Presence } from '#postgres/presence.ts';
import type { Wake } from '#postgres/wake.ts';
import { createOutboxIndex, type OutboxIndex } from './outbox-index-sql.ts';
import { createQueueStore } from './queue-sql.ts';
import { limitQueue, limitTimers, limitWorkflows, queueLimit } from './project-limits.ts';
import { limitCalls, type ProjectLimit } from './project-concurrency.ts';
import type { BindingEventStores } from '../engine/bindings/bindings.ts';
import { likePrefix, type Sql } from './sql.ts';
import { createCronStore, createTimerStore } from './timer-sql.ts';
import { createWorkflowStore } from './workflow-sql.ts';

/** The tables of these stores in a SQLite file; postgres/migrations/ defines them. */
export const eventTables: readonly string[] = [
  'lane',
  'queue_message',
  'queue_dedupe',
  'timer',
  'workflow_execution',
  'workflow_step',
  'workflow_event',
  'workflow_log',
  'outbox_database',
];

/** Limits for writes and statements of bindings. */
interface StoreLimits {
  /** The free space of the database's disk. */
  readonly space: FreeSpace;
  /** Remaining storage of organizations. */
  readonly storage: StorageGuard;
  readonly queueBytesMax: number;
  /** Limits concurrent statements of a project; null means no limit. */
  readonly limit: ProjectLimit | null;
}

/** Maximum number of rows that one statement deletes. */
const CLEARED_AT_ONCE = 500;

/** The stores over one database. */
export interface EventStores {
  readonly queue: ReturnType<typeof createQueueStore>;
  readonly timer: ReturnType<typeof createTimerStore>;
  readonly cron: ReturnType<typeof createCronStore>;
  readonly workflow: ReturnType<typeof createWorkflowStore>;
  /** The index of databases with messages for queues. */
  readonly outboxes: OutboxIndex;
  readonly wake: Wake;
  /** A broker's membership among the brokers over this database. */
  join(onTrouble: (error: unknown) => void): Promise<Presence>;
  /**
   * Deletes all messages, timers and runs of a namespace and its previews, including those in progress. Lanes are kept,
   * because engines and brokers cache their numbers.
   */
  clear(namespace: string): Promise<{ messages: number; timers: number; runs: number }>;
  close(): Promise<void>;
}

/** All stores, except the parts that each kind of database implements itself. */
export function eventStoresOver(sql: Sql, wake: Wake, limits: DeliveryLimits): Omit<EventStores, 'join' | 'close'> {
  return {
    queue: createQueueStore(sql, wake, limits),
    timer: createTimerStore(sql, wake, limits),
    cron: createCronStore(sql, wake, limits),
    workflow: createWorkflowStore(sql, wake, limits),
    outboxes: createOutboxIndex(sql),
    wake,
    async clear(namespace) {
      const row = sql.technology === 'postgres' ? 'ctid' : 'rowid';
      // Steps, events and logs are deleted with their runs. Rows are deleted in batches, because statements have a
      // timeout.
      const drop = async (table: string): Promise<number> => {
        const batch = `DELETE FROM ${table} WHERE ${row} IN (SELECT ${row} FROM ${table} WHERE lane_id IN (
          SELECT id FROM lane WHERE namespace = $1 OR namespace LIKE $2 ESCAPE '!') LIMIT ${CLEARED_AT_ONCE}) RETURNING 1`;
        for (let count = 0; ;) {
          const { length } = await sql.all(batch, namespace, likePrefix(`${namespace}${previewSeparator}`));
          count += length;
          if (length === 0) return count;
        }
      };
      const messages = await drop('queue_message');
      await drop('queue_dedupe');
      return { messages, timers: await drop('timer'), runs: await drop('workflow_execution') };
    },
  };
}

/** The stores for bindings, whose calls are limited if the disk or the storage is full, or the project is busy. */
export function limitedStores(
  { sql, queue, timer, workflow }: BindingEventStores & { readonly sql: Sql },
  { space, storage, queueBytesMax, limit }: StoreLimits,
): BindingEventStores {
  const limited = <Store extends object>(store: Store, names: readonly (keyof Store & string)[]): Store =>
    limit === null ? store : limitCalls(store, limit, names);
  const bounded = limitQueue(queue, queueLimit(sql, queueBytesMax, storage));
  return {
    // Sending is not limited here, because it is batched with messages of other projects.
    queue: limited(whereThereIsSpace(bounded, space, ['send']), ['metrics', 'list', 'remove', 'redrive', 'purge']),
    timer: limited(whereThereIsSpace(limitTimers(timer, storage), space, ['set']), ['set', 'get', 'list', 'delete']),
    workflow: limited(whereThereIsSpace(limitWorkflows(workflow, storage), space, ['trigger', 'sendEvent']), [
      'trigger',
      'get',
      'list',
      'history',
      'cancel',
      'pause',
      'resume',
      'restart',
      'sendEvent',
    ]),
  };
}

export async function closeEventStores(wake: Wake, sql: { close(): Promise<void> }): Promise<void> {
  await wake.close();
  await sql.close();
}
