// Shared by queues, timers, cron and workflows: manages lanes, and claims due rows of a lane under a lease, renews and
// releases them. Called by the claim loop (postgres/claim-loop.ts); the stores of each kind build on it. `seq` is a
// row's number in its table.
import type { EventKind } from '#core/event.ts';
import { withoutPreview } from '#core/preview.ts';
import type { ClaimedRow, ClaimSource } from '#postgres/claim-loop.ts';
import { likePrefix, oneOf, type Sql } from './sql.ts';

/** Columns of every claimed row. */
export interface LaneRow extends ClaimedRow {
  readonly due_at: number;
  readonly namespace: string;
  readonly resource: string;
}

/** Lanes by name. */
export interface Lanes {
  /** The number of a lane, which is created if necessary. */
  open(namespace: string, resource: string, options?: { consumed?: boolean }): Promise<number>;
  /** The number of a lane; null if the lane does not exist. */
  find(namespace: string, resource: string): Promise<number | null>;
  /** Marks a lane as consumed, so that its dead letters are delivered from then on. */
  consume(namespace: string, resources: readonly string[]): Promise<void>;
  /** Sets the concurrency limit of each resource; 0 means the platform's limit. */
  limit(namespace: string, concurrency: Readonly<Record<string, number>>): Promise<void>;
  set(lane: number, settings: { concurrency?: number; paused?: boolean }): Promise<void>;
}

/** Maximum number of cached lane numbers; above it, all are dropped and read again. */
const REMEMBERED_MAX = 100_000;

export function createLanes(sql: Sql, kind: EventKind): Lanes {
  const known = new Map<string, number>();
  const keyOf = (namespace: string, resource: string): string => `${namespace}\0${resource}`;

  async function find(namespace: string, resource: string): Promise<number | null> {
    const key = keyOf(namespace, resource);
    const seen = known.get(key);
    if (seen !== undefined) return seen;
    const [row] = await sql.all<{ id: number }>(
      'SELECT id FROM lane WHERE kind = $1 AND namespace = $2 AND resource = $3',
      kind,
      namespace,
      resource,
    );
    if (row === undefined) return null;
    if (known.size >= REMEMBERED_MAX) known.clear();
    known.set(key, row.id);
    return row.id;
  }

  async function open(namespace: string, resource: string, options: { consumed?: boolean } = {}): Promise<number> {
    const found = await find(namespace, resource);
    if (found === null)
      await sql.all(
        'INSERT INTO lane (kind, namespace, resource, consumed) VALUES ($1, $2, $3, $4) ON CONFLICT (kind, namespace, resource) DO NOTHING',
        kind,
        namespace,
        resource,
        options.consumed === false ? 0 : 1,
      );
    return found ?? (await find(namespace, resource))!;
  }

  return {
    find,
    open,
    async limit(namespace, concurrency) {
      for (const [resource, most] of Object.entries(concurrency))
        await sql.all(
          'UPDATE lane SET concurrency = $2 WHERE id = $1 AND concurrency <> $2',
          await open(namespace, resource),
          most,
        );
    },
    async consume(namespace, resources) {
      for (const resource of resources)
        await sql.all(
          `INSERT INTO lane (kind, namespace, resource, consumed) VALUES ($1, $2, $3, 1)
           ON CONFLICT (kind, namespace, resource) DO UPDATE SET consumed = 1 WHERE lane.consumed = 0`,
          kind,
          namespace,
          resource,
        );
    },
    async set(lane, { concurrency, paused }) {
      await sql.all(
        'UPDATE lane SET concurrency = coalesce($2, concurrency), paused = coalesce($3, paused) WHERE id = $1',
        lane,
        concurrency ?? null,
        paused === undefined ? null : paused ? 1 : 0,
      );
    },
  };
}

/** Options of claims. */
interface ClaimOptions {
  readonly sql: Sql;
  readonly kind: EventKind;
  readonly table: 'queue_message' | 'timer' | 'workflow_execution';
  /** Maximum number of rows of one lane that are processed concurrently, unless the lane sets its own limit. */
  readonly concurrency: number;
  /** Whether rows with the same `ordering_key` are processed one at a time. */
  readonly ordered?: boolean;
}

/** The claims in one table. */
export type Claims<Row extends LaneRow> = ClaimSource<Row>;

export function createClaims<Row extends LaneRow>({
  sql,
  kind,
  table,
  concurrency,
  ordered = false,
}: ClaimOptions): Claims<Row> {
  const unblocked = ordered
    ? `AND (m.ordering_key IS NULL OR NOT EXISTS (SELECT 1 FROM ${table} e
         WHERE e.lane_id = m.lane_id AND e.ordering_key = m.ordering_key AND e.seq < m.seq AND e.due_at IS NOT NULL))`
    : '';
  const room = `(CASE WHEN l.concurrency > 0 THEN l.concurrency ELSE ${concurrency} END)
    - (SELECT count(*) FROM ${table} b WHERE b.lane_id = l.id AND b.lease IS NOT NULL AND b.due_at > $1)`;
  const candidates = `SELECT m.seq FROM ${table} m WHERE m.lane_id = w.id AND m.due_at <= $1 ${unblocked} ORDER BY m.due_at, m.seq`;
  const open = `l.paused = 0 AND l.consumed = 1`;
  const claimPostgres = `
    WITH wanted AS MATERIALIZED (SELECT l.id, l.namespace, l.resource, ${room} AS room FROM lane l WHERE l.id = ANY($4::bigint[]) AND ${open}),
    picked AS MATERIALIZED (
      SELECT p.seq, w.namespace, w.resource, w.room
      FROM wanted w CROSS JOIN LATERAL (${candidates} LIMIT greatest(0, least($5::bigint, w.room)) FOR UPDATE SKIP LOCKED) p)
    UPDATE ${table} t SET due_at = $2, lease = $3, attempt = t.attempt + 1
    FROM picked WHERE t.seq = picked.seq RETURNING t.*, picked.namespace, picked.resource, picked.room`;

  /**
   * A claim that is lost in a crash of the server is made again. A timer should fire only once, so its claim is
   * durable.
   */
  const run: Sql['all'] = kind === 'timer' || kind === 'cron' ? sql.all : sql.asyncCommit;

  async function claimSqlite(
    lanes: readonly number[],
    perLane: number,
    lease: string,
    now: number,
    until: number,
  ): Promise<Row[]> {
    return sql.transaction(async (inside) => {
      const rows: Row[] = [];
      for (const lane of lanes) {
        const [found] = await inside.all<{ room: number }>(
          `SELECT l.namespace, l.resource, ${room} AS room FROM lane l WHERE l.id = $2 AND ${open}`,
          now,
          lane,
        );
        if (found === undefined || found.room <= 0) continue;
        const claimed = await inside.all<Row>(
          `UPDATE ${table} SET due_at = $2, lease = $3, attempt = attempt + 1 WHERE seq IN
             (${candidates.replace('w.id', '$4')} LIMIT $5) RETURNING *`,
          now,
          until,
          lease,
          lane,
          Math.min(perLane, found.room),
        );
        for (const row of claimed) rows.push({ ...row, ...found });
      }
      return rows;
    });
  }

  return {
    kind,
    async scan(lanes) {
      const only = lanes === undefined ? null : oneOf(sql, 'l.id', 2, lanes);
      const rows = await sql.all<{ lane: number; namespace: string; due_at: number | null }>(
        `SELECT l.id AS lane, l.namespace, (SELECT min(t.due_at) FROM ${table} t WHERE t.lane_id = l.id AND t.due_at IS NOT NULL) AS due_at
         FROM lane l WHERE l.kind = $1 AND ${open}${only === null ? '' : ` AND ${only.condition}`}`,
        kind,
        ...(only === null ? [] : [only.value]),
      );
      // Fairness is between projects, independent of the number of their previews.
      return rows.map(({ namespace, ...row }) => ({ ...row, namespace: withoutPreview(namespace) }));
    },
    async claim(lanes, perLane, lease, now, until) {
      const rows =
        sql.technology === 'sqlite'
          ? await claimSqlite(lanes, perLane, lease, now, until)
          : await run<Row>(claimPostgres, now, until, lease, `{${lanes.join(',')}}`, perLane);
      // Rows are sorted, because RETURNING has no defined order.
      return rows.sort((a, b) => a.seq - b.seq);
    },
    async renew(seqs, member, until) {
      const { condition, value } = oneOf(sql, 'seq', 3, seqs);
      const rows = await run<{ seq: number }>(
        `UPDATE ${table} SET due_at = $1 WHERE lease LIKE $2 ESCAPE '!' AND ${condition} RETURNING seq`,
        until,
        likePrefix(`${member}.`),
        value,
      );
      return rows.map(({ seq }) => seq);
    },
    async release(row, dueAt, counted) {
      const rows = await sql.all(
        `UPDATE ${table} SET due_at = $1, lease = NULL, attempt = attempt - $2 WHERE seq = $3 AND lease = $4 RETURNING seq`,
        dueAt,
        counted ? 0 : 1,
        row.seq,
        row.lease,
      );
      return rows.length > 0;
    },
    async members() {
      const rows = await sql.all<{ lease: string }>(
        `SELECT DISTINCT t.lease FROM ${table} t JOIN lane l ON l.id = t.lane_id WHERE l.kind = $1 AND t.lease IS NOT NULL`,
        kind,
      );
      return [...new Set(rows.map(({ lease }) => lease.slice(0, lease.indexOf('.'))))];
    },
    async takeOver(member, now) {
      const pattern = likePrefix(`${member}.`);
      await sql.all(`UPDATE ${table} SET due_at = $1 WHERE lease LIKE $2 ESCAPE '!' AND due_at > $1`, now, pattern);
    },
  };
}
