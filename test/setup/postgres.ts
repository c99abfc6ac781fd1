// Postgres for tests: one server a test run (test/setup/global.ts), or one for the file where it runs by itself; a database of
// its own for each caller, copied from a migrated template.
import { after } from 'node:test';
import { openPostgres, urlOfDatabase } from '#postgres/connection.ts';
import { engineVariable, ownerVariable, startTestPostgres, template } from './postgres-server.ts';

let ownServer: Promise<{ stop(): Promise<void> }> | null = null;
after(async () => (await ownServer)?.stop());

let databases = 0;

/** A fresh migrated database, dropped by `close`. `engineUrl` is of the role that engines have. */
export async function createTestDatabase(): Promise<{ url: string; engineUrl: string; close(): Promise<void> }> {
  if (process.env[ownerVariable] === undefined || ownServer !== null) {
    await (ownServer ??= startTestPostgres());
  }
  const server = process.env[ownerVariable]!;
  const name = `test_${process.pid}_${++databases}`;
  const maintenance = openPostgres({ url: urlOfDatabase(server, 'postgres'), name: 'test', connectionsMax: 1 });
  await maintenance.unsafe(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  return {
    url: urlOfDatabase(server, name),
    engineUrl: urlOfDatabase(process.env[engineVariable]!, name),
    async close() {
      // A server of this file's own goes as a whole, perhaps before.
      if (ownServer === null) await maintenance.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await maintenance.end();
    },
  };
}
