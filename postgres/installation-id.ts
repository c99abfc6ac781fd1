// The id of the platform, stored in its database: it marks the folders and buckets of an installation.
import type { Sql } from './sql.ts';

/** @param sql connected as the owner of the database. */
export async function readInstallation(sql: Sql): Promise<string> {
  const [platform] = await sql<{ id: string }[]>`SELECT id::text FROM control.platform`;
  return platform!.id;
}
