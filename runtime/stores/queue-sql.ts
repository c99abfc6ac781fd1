// Queues over `Sql`: workers send messages, and the broker claims and settles them. Messages that arrive during a flush
// are part of the next flush.
import type { DeliveryLimits } from '#core/limits.ts';
import { deadLettersOf } from '#core/queue-settings.ts';
import type { Wake } from '#postgres/wake.ts';
import type { EventSender, NewMessage, QueuePlace, QueueStore, StoredMessage } from '../engine/bindings/queue.ts';
import { createClaims, createLanes, type Claims, type LaneRow, type Lanes } from './claims-sql.ts';
import { createBatcher } from './batcher.ts';
import { oneOf, type Sql } from './sql.ts';
import { limitByProject } from './project-concurrency.ts';

/** A claimed message. */
interface MessageRow extends LaneRow {
  readonly message_id: string;
  readonly payload: string;
  readonly sent_at: number;
  readonly expires_at: number;
  readonly ordering_key: string | null;
  readonly project: string;
  readonly branch: string;
  readonly binding: string;
  readonly trace: string | null;
}

/** The operations of the broker on queues. */
interface QueueDeliveries {
  readonly lanes: Lanes;
  readonly claims: Claims<MessageRow>;
  acknowledge(rows: readonly MessageRow[]): Promise<void>;
  /**
   * Moves a message to the dead letters of its queue.
   *
   * @param deadLetter the queue for dead letters, by default `<queue>_dlq`; null if the message stays in its queue, and
   *   is not delivered again.
   */
  deadLetter(row: MessageRow, reason: string, now: number, deadLetter?: string | null): Promise<void>;
  /** Deletes expired messages of lanes without a consumer. */
  sweep(now: number): Promise<void>;
}

interface Sending {
  readonly rows: readonly (readonly [lane: number, sender: EventSender, message: NewMessage])[];
  readonly now: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Maximum number of messages per flush and of concurrent flushes, and how long a message waits for a running flush. */
const ITEMS_MAX = 500;
const FLUSHES_MAX = 4;
const WAIT_MS = 5;
const REASON_CHARS_MAX = 500;
const columns =
  'lane_id, message_id, payload, sent_at, due_at, expires_at, ordering_key, project, branch, binding, trace';
const insertOne = `INSERT INTO queue_message (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`;

export function createQueueStore(sql: Sql, wake: Wake, limits: DeliveryLimits): QueueStore & QueueDeliveries {
  const lanes = createLanes(sql, 'queue');
  const claims = createClaims<MessageRow>({
    sql,
    kind: 'queue',
    table: 'queue_message',
    concurrency: limits.laneConcurrency,
    ordered: true,
  });
  const limited = limitByProject();
  const sendings = createBatcher<Sending>({
    flush,
    itemsMax: ITEMS_MAX,
    flushesMax: FLUSHES_MAX,
    waitMs: WAIT_MS,
    sizeOf: ({ rows }) => rows.length,
    sizeMax: ITEMS_MAX,
  });

  async function insert(on: Sql, sendings: readonly Pick<Sending, 'rows' | 'now'>[]): Promise<void> {
    const rows = sendings.flatMap(({ rows: list, now }) =>
      list.map(([lane, sender, message]) => [
        lane,
        message.id,
        message.payload,
        now,
        message.dueAt,
        Math.max(message.dueAt, now) + limits.retentionMs,
        message.orderingKey,
        sender.project,
        sender.branch,
        sender.binding,
        sender.trace ?? null,
      ]),
    );
    if (rows.length === 1) {
      await on.all(insertOne, ...(rows[0] as never[]));
      return;
    }
    if (on.technology === 'postgres') {
      const lists = columns.split(', ').map((_, index) => rows.map((row) => row[index]));
      const types = 'bigint[] text[] text[] bigint[] bigint[] bigint[] text[] text[] text[] text[] text[]'.split(' ');
      const from = types.map((type, index) => `$${index + 1}::${type}`).join(', ');
      await on.all(`INSERT INTO queue_message (${columns}) SELECT * FROM unnest(${from})`, ...(lists as never[]));
      return;
    }
    await on.transaction(async (inside) => {
      for (const row of rows) await inside.all(insertOne, ...(row as never[]));
    });
  }

  async function flush(batch: readonly Sending[]): Promise<void> {
    try {
      await insert(sql, batch);
    } catch (error) {
      // The messages are then sent one by one, because one of them may be the cause. After a lost connection, nothing
      // is retried, because the outcome is unknown.
      if (batch.length === 1 || (error as { code?: unknown }).code === 'store_unavailable')
        for (const { reject } of batch) reject(error);
      else for (const sending of batch) await flush([sending]);
      return;
    }
    for (const { resolve } of batch) resolve();
  }

  /** Stores messages with a dedupe id, unless the id is known. */
  function sendOnce(
    lane: number,
    sender: EventSender,
    messages: readonly NewMessage[],
    now: number,
  ): Promise<string[]> {
    return sql.transaction(async (inside) => {
      const ids = new Map<NewMessage, string>();
      // Locks are acquired in a global order, so that two batches never deadlock.
      const marked = messages
        .filter(({ dedupeId }) => dedupeId !== null)
        .toSorted((a, b) => (a.dedupeId! < b.dedupeId! ? -1 : 1));
      for (const message of marked) {
        const [taken] = await inside.all(
          `INSERT INTO queue_dedupe (lane_id, dedupe_id, message_id, expires_at) VALUES ($1, $2, $3, $4)
           ON CONFLICT (lane_id, dedupe_id) DO UPDATE SET message_id = excluded.message_id, expires_at = excluded.expires_at
           WHERE queue_dedupe.expires_at <= $5 RETURNING message_id`,
          lane,
          message.dedupeId,
          message.id,
          now + limits.retentionMs,
          now,
        );
        if (taken !== undefined) continue;
        const [known] = await inside.all<{ message_id: string }>(
          'SELECT message_id FROM queue_dedupe WHERE lane_id = $1 AND dedupe_id = $2',
          lane,
          message.dedupeId,
        );
        ids.set(message, known!.message_id);
      }
      const fresh = messages.filter((message) => !ids.has(message));
      if (fresh.length > 0)
        await insert(inside, [{ rows: fresh.map((message) => [lane, sender, message] as const), now }]);
      return messages.map((message) => ids.get(message) ?? message.id);
    });
  }

  /** The lane of a queue's dead letters, if there is one. */
  async function deadLane({
    namespace,
    resource,
    deadLetter = deadLettersOf({}, resource),
  }: QueuePlace): Promise<number | null> {
    return deadLetter === null ? null : lanes.find(namespace, deadLetter);
  }

  return {
    lanes,
    claims,
    async send({ namespace, resource }, sender, messages, now) {
      const lane = await lanes.open(namespace, resource);
      let ids: string[];
      if (messages.some(({ dedupeId }) => dedupeId !== null))
        ids = await limited(namespace, () => sendOnce(lane, sender, messages, now));
      else {
        await new Promise<void>((resolve, reject) => {
          sendings.add({ rows: messages.map((message) => [lane, sender, message] as const), now, resolve, reject });
        });
        ids = messages.map(({ id }) => id);
      }
      wake.notify('queue', lane, Math.min(...messages.map(({ dueAt }) => dueAt)));
      return ids;
    },
    async metrics(place, now) {
      const lane = (await lanes.find(place.namespace, place.resource)) ?? 0;
      const dead = (await deadLane(place)) ?? 0;
      const [row] = await sql.all<{ n: number; bytes: number; flying: number; oldest: number | null; dead: number }>(
        `SELECT count(*) AS n, CAST(coalesce(sum(octet_length(payload)), 0) AS bigint) AS bytes, min(sent_at) AS oldest,
           count(CASE WHEN lease IS NOT NULL AND due_at > $3 THEN 1 END) AS flying,
           (SELECT count(*) FROM queue_message WHERE lane_id = $2) AS dead
         FROM queue_message WHERE lane_id = $1`,
        lane,
        dead,
        now,
      );
      const { n, bytes, flying, oldest, dead: deadCount } = row!;
      return { backlogCount: n, backlogBytes: bytes, inFlightCount: flying, oldestMessageTimestamp: oldest, deadCount };
    },
    async list({ namespace, resource }, { limit, after }) {
      const lane = (await lanes.find(namespace, resource)) ?? 0;
      const rows = await sql.all<StoredMessage & { seq: number }>(
        `SELECT seq, message_id AS id, payload, dead_attempts + attempt AS attempt, sent_at AS timestamp, due_at AS "dueAt", dead_reason AS "deadReason"
         FROM queue_message WHERE lane_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`,
        lane,
        after,
        limit,
      );
      const messages = rows.map(({ id, payload, attempt, timestamp, dueAt, deadReason }) => ({
        id,
        payload,
        attempt,
        timestamp,
        dueAt,
        deadReason,
      }));
      return { messages, next: rows.length === limit ? rows.at(-1)!.seq : null };
    },
    async remove({ namespace, resource }, id) {
      const lane = (await lanes.find(namespace, resource)) ?? 0;
      return (
        (
          await sql.all(
            'DELETE FROM queue_message WHERE lane_id = $1 AND message_id = $2 AND lease IS NULL RETURNING seq',
            lane,
            id,
          )
        ).length > 0
      );
    },
    async redrive(place, now, id = null) {
      const dead = await deadLane(place);
      if (dead === null) return 0;
      const lane = await lanes.open(place.namespace, place.resource);
      const rows = await sql.all(
        `UPDATE queue_message SET lane_id = $1, due_at = $2, attempt = 0, dead_attempts = 0, dead_reason = NULL, expires_at = $3
         WHERE lane_id = $4 AND (lease IS NULL OR due_at <= $2)${id === null ? '' : ' AND message_id = $5'} RETURNING seq`,
        lane,
        now,
        now + limits.retentionMs,
        dead,
        ...(id === null ? [] : [id]),
      );
      if (rows.length > 0) wake.notify('queue', lane, now);
      return rows.length;
    },
    async purge({ namespace, resource }) {
      const lane = await lanes.find(namespace, resource);
      if (lane === null) return 0;
      return (await sql.all('DELETE FROM queue_message WHERE lane_id = $1 AND lease IS NULL RETURNING seq', lane))
        .length;
    },
    async acknowledge(rows) {
      if (rows.length === 0) return;
      const { condition, value } = oneOf(
        sql,
        'seq',
        1,
        rows.map(({ seq }) => seq),
      );
      // If this deletion is lost in a crash, the messages are delivered again.
      await sql.asyncCommit(`DELETE FROM queue_message WHERE ${condition}`, value);
    },
    async deadLetter(row, reason, now, deadLetter = deadLettersOf({}, row.resource)) {
      const isDead = deadLetter === null;
      const lane = isDead ? row.lane_id : await lanes.open(row.namespace, deadLetter, { consumed: false });
      await sql.all(
        `UPDATE queue_message SET lane_id = $1, due_at = $2, lease = NULL, attempt = 0, dead_attempts = dead_attempts + attempt,
           dead_reason = $3, expires_at = $4 WHERE seq = $5 AND lease = $6`,
        lane,
        isDead ? null : now,
        reason.replaceAll('\0', '').slice(0, REASON_CHARS_MAX).toWellFormed(),
        now + limits.retentionMs,
        row.seq,
        row.lease,
      );
      if (!isDead) wake.notify('queue', lane, now);
    },
    async sweep(now) {
      await sql.all('DELETE FROM queue_dedupe WHERE expires_at <= $1', now);
      await sql.all(
        `DELETE FROM queue_message WHERE expires_at <= $1 AND (lease IS NULL OR due_at <= $1) AND (due_at IS NULL OR lane_id IN
           (SELECT id FROM lane WHERE kind = 'queue' AND (paused = 1 OR consumed = 0)))`,
        now,
      );
    },
  };
}
