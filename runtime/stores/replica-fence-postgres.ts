// Issues the numbers of homes of databases. Each start of a replicating database service gets a higher number, so two
// services never write the same objects of a bucket, and the older service detects that it was replaced.
import { openPostgres } from '#postgres/connection.ts';

/** The numbers of the services of an installation. */
export interface ReplicaFence {
  /** Issues a number. @param least the highest number that is used in the bucket. */
  next(least: number): Promise<{ readonly fence: number; readonly installation: string }>;
  /** The highest number that was issued. */
  newest(): Promise<number>;
  close(): Promise<void>;
}

/** @param url the URL for the tables of bindings. */
export function openReplicaFence(url: string): ReplicaFence {
  const sql = openPostgres({ url, name: 'platform replica', connectionsMax: 1, schema: 'binding' });
  return {
    async next(least) {
      const [row] = await sql.all<{ fence: number; installation: string }>(
        'UPDATE replica SET fence = greatest(fence, $1::bigint) + 1 RETURNING fence::float8, installation::text',
        least,
      );
      if (row === undefined) throw new Error('the table binding.replica has no row');
      return { fence: Number(row.fence), installation: row.installation };
    },
    async newest() {
      const [row] = await sql.all<{ fence: number }>('SELECT fence::float8 FROM replica');
      return Number(row?.fence ?? 0);
    },
    close: () => sql.close(),
  };
}
