// Queues, timers, cron and workflows over one database. Opened by the roots, with event-stores-postgres.ts or
// event-stores-sqlite.ts: by the engine for what workers send and set, by the broker for what it claims.
import type { DeliveryLimits } from '#core/limits.ts';
import type { Presence } from '#postgres/presence.ts';
import type { Wake } from '#postgres/wake.ts';
import { createOutboxIndex, type OutboxIndex } from './outbox-index-sql.ts';
import { createQueueStore } from './queue-sql.ts';
import type { Sql } from './sql.ts';
import { createCronStore, createTimerStore } from './timer-sql.ts';
import { createWorkflowStore } from './workflow-sql.ts';

/** The stores over one database. */
export interface EventStores {
  readonly queue: ReturnType<typeof createQueueStore>;
  readonly timer: ReturnType<typeof createTimerStore>;
  readonly cron: ReturnType<typeof createCronStore>;
  readonly workflow: ReturnType<typeof createWorkflowStore>;
  /** Index of databases with messages for queues. */
  readonly outboxes: OutboxIndex;
  readonly wake: Wake;
  /** A broker's membership among those over this database. */
  join(onTrouble: (error: unknown) => void): Promise<Presence>;
  /**
   * Deletes all messages, timers and runs of a namespace, including those in progress. Its lanes are kept: engines
   * and brokers cache their numbers.
   */
  clear(namespace: string): Promise<{ messages: number; timers: number; runs: number }>;
  close(): Promise<void>;
}

/** All stores except those that each kind of database implements itself. */
export function eventStoresOver(sql: Sql, wake: Wake, limits: DeliveryLimits): Omit<EventStores, 'join' | 'close'> {
  return {
    queue: createQueueStore(sql, wake, limits),
    timer: createTimerStore(sql, wake, limits),
    cron: createCronStore(sql, wake, limits),
    workflow: createWorkflowStore(sql, wake, limits),
    outboxes: createOutboxIndex(sql),
    wake,
    async clear(namespace) {
      // Steps, events and logs are deleted with their runs.
      const drop = async (table: string): Promise<number> => {
        const rows = `FROM ${table} WHERE lane_id IN (SELECT id FROM lane WHERE namespace = $1)`;
        const [found] = await sql.all<{ count: number | string }>(`SELECT count(*) AS count ${rows}`, namespace);
        await sql.all(`DELETE ${rows}`, namespace);
        return Number(found?.count ?? 0);
      };
      const messages = await drop('queue_message');
      await drop('queue_dedupe');
      return { messages, timers: await drop('timer'), runs: await drop('workflow_execution') };
    },
  };
}

export async function closeEventStores(wake: Wake, sql: { close(): Promise<void> }): Promise<void> {
  await wake.close();
  await sql.close();
}
