// The id of the platform, of its database: an installation's folders and buckets are marked with it.
import type { Sql } from './sql.ts';

/** @param sql as the database's owner. */
export async function readInstallation(sql: Sql): Promise<string> {
  const [platform] = await sql<{ id: string }[]>`SELECT id::text FROM control.platform`;
  return platform!.id;
}
