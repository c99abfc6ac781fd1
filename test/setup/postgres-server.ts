// A Postgres server for tests with a migrated template database. Started by global.ts for a whole run, by postgres.ts
// for one file.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { urlOfDatabase } from './database-url.ts';
import { openPostgres } from '#postgres/connection.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '#postgres/embedded.ts';
import { openEngineRole } from '#postgres/engine-role.ts';
import { migrate } from '#postgres/migrate.ts';

/** Variables that say where the server is: URLs of the owner and of the engines' role. */
export const ownerVariable = 'TEST_POSTGRES_URL';
export const engineVariable = 'TEST_POSTGRES_ENGINE_URL';
export const template = 'platform_template';

/** A server with a migrated template. */
export async function startTestPostgres(): Promise<{ postgres: EmbeddedPostgres; stop(): Promise<void> }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-pg-'));
  const postgres = await startEmbeddedPostgres({ folder, durable: false });
  const maintenance = openPostgres({ url: urlOfDatabase(postgres.url, 'postgres'), name: 'test', connectionsMax: 1 });
  await maintenance.all(`CREATE DATABASE ${template}`);
  await maintenance.close();
  const sql = openPostgres({ url: urlOfDatabase(postgres.url, template), name: 'test', connectionsMax: 2 });
  await migrate(sql);
  process.env[engineVariable] = await openEngineRole(sql, postgres.url);
  await sql.close();
  process.env[ownerVariable] = postgres.url;
  return {
    postgres,
    async stop() {
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
