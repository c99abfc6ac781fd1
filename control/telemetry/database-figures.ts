// State and backlog of Postgres for /metrics: connections by program, due events, jobs. Read at most every 15 seconds
// and with a short timeout, to avoid load on a busy database. Reported by main.ts.
import type { Figure } from '#core/process/figures.ts';
import type { Sql } from '#postgres/sql.ts';

const READ_MS = 15_000;
const STATEMENT_MS = 1000;

/**
 * Reads the metrics if the last ones are older than fifteen seconds; empty if the database does not respond in time.
 */
export function createDatabaseFigures(sql: Sql, now: () => number = Date.now): () => Promise<readonly Figure[]> {
  let figures: readonly Figure[] = [];
  let readAt = -Infinity;
  return async () => {
    if (now() - readAt < READ_MS) return figures;
    readAt = now();
    figures = [];
    figures = await readFigures(sql, now());
    return figures;
  };
}

/** @throws {Error} if the database does not respond in time. */
async function readFigures(sql: Sql, now: number): Promise<Figure[]> {
  return (await sql.begin('read only', async (tx) => {
    await tx`SELECT set_config('statement_timeout', ${String(STATEMENT_MS)}, true)`;
    const connections = await tx<{ client: string; state: string; count: number }[]>`
      SELECT CASE WHEN application_name = '' THEN 'other' ELSE application_name END AS client,
        CASE WHEN state LIKE 'idle in transaction%' THEN 'in transaction' WHEN state = 'idle' THEN 'idle'
          ELSE 'active' END AS state, count(*) AS count
      FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
      GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 50`;
    const [database] = await tx<{ allowed: number; bytes: number; hits: number; reads: number }[]>`
      SELECT current_setting('max_connections')::int AS allowed, pg_database_size(current_database()) AS bytes,
        blks_hit AS hits, blks_read AS reads FROM pg_stat_database WHERE datname = current_database()`;
    // Events of lanes without a consumer, such as dead letters, are not included.
    const events = await tx<{ kind: string; due: number; leased: number; oldest: number }[]>`
      SELECT kind, coalesce(sum(due), 0)::bigint AS due, coalesce(sum(leased), 0)::bigint AS leased,
        coalesce(min(oldest), ${now})::bigint AS oldest
      FROM (VALUES ('queue'), ('timer'), ('cron'), ('workflow')) AS kinds (kind)
      LEFT JOIN (
        SELECT lane.kind AS of, count(*) FILTER (WHERE lease IS NULL AND due_at <= ${now}) AS due,
          count(*) FILTER (WHERE lease IS NOT NULL) AS leased,
          min(due_at) FILTER (WHERE lease IS NULL AND due_at <= ${now}) AS oldest
        FROM (
          SELECT lane_id, due_at, lease FROM binding.queue_message WHERE due_at <= ${now} OR lease IS NOT NULL
          UNION ALL SELECT lane_id, due_at, lease FROM binding.timer WHERE due_at <= ${now} OR lease IS NOT NULL
          UNION ALL
          SELECT lane_id, due_at, lease FROM binding.workflow_execution WHERE due_at <= ${now} OR lease IS NOT NULL
        ) AS event JOIN binding.lane ON lane.id = lane_id AND consumed = 1 AND paused = 0
        GROUP BY lane.kind
      ) AS found ON of = kind GROUP BY kind ORDER BY kind`;
    const jobs = await tx<{ kind: string; state: string; count: number }[]>`
      SELECT kind, CASE WHEN lease_until > now() THEN 'running' ELSE 'waiting' END AS state, count(*) AS count
      FROM control.job GROUP BY 1, 2 ORDER BY 1, 2`;
    return [
      ...connections.map(({ client, state, count }): Figure => [
        'platform_postgres_connections',
        { client, state },
        count,
      ]),
      ['platform_postgres_connections_max', {}, database!.allowed],
      ['platform_postgres_bytes', {}, database!.bytes],
      ['platform_postgres_blocks_read_total', { from: 'cache' }, database!.hits],
      ['platform_postgres_blocks_read_total', { from: 'disk' }, database!.reads],
      ...events.flatMap(({ kind, due, leased, oldest }): Figure[] => [
        ['platform_events_waiting', { kind, state: 'due' }, due],
        ['platform_events_waiting', { kind, state: 'leased' }, leased],
        ['platform_events_delay_seconds', { kind }, (now - oldest) / 1000],
      ]),
      ...['build', 'release'].flatMap((kind) =>
        ['waiting', 'running'].map((state): Figure => {
          const found = jobs.find((job) => job.kind === kind && job.state === state);
          return ['platform_jobs', { kind, state }, found?.count ?? 0];
        }),
      ),
    ];
  })) as Figure[];
}
