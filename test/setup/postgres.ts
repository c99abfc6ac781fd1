// Postgres for tests: one server a test run (test/setup/global.ts), or one for the file where it runs by itself; a
// database of its own for each caller, copied from a migrated template.
import { after } from 'node:test';
import { urlOfDatabase } from './database-url.ts';
import { openPostgres } from '#postgres/connection.ts';
import { engineVariable, ownerVariable, startTestPostgres, template } from './postgres-server.ts';

let databases = 0;
let open = 0;
let over = false;
let ownServer: ReturnType<typeof startTestPostgres> | null = null;

// This hook comes before those of the file, which close its databases: the last of them stops the server. Where files
// share a process, it is a hook of the first of them: the next one that wants a server starts another.
after(async () => {
  over = true;
  await stopWhenDone();
});

async function stopWhenDone(): Promise<void> {
  if (!over || open > 0 || ownServer === null) return;
  const server = ownServer;
  ownServer = null;
  for (const name of [ownerVariable, engineVariable]) delete process.env[name];
  await (await server).stop();
}

/** A fresh migrated database, dropped by `close`. `engineUrl` is of the role that engines have. */
export async function createTestDatabase(): Promise<{ url: string; engineUrl: string; close(): Promise<void> }> {
  open++;
  if (process.env[ownerVariable] === undefined || ownServer !== null) await (ownServer ??= startTestPostgres());
  const server = process.env[ownerVariable]!;
  const name = `test_${process.pid}_${++databases}`;
  const maintenance = openPostgres({ url: urlOfDatabase(server, 'postgres'), name: 'test', connectionsMax: 1 });
  await maintenance.all(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  return {
    url: urlOfDatabase(server, name),
    engineUrl: urlOfDatabase(process.env[engineVariable]!, name),
    async close() {
      await maintenance.all(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await maintenance.close();
      open--;
      await stopWhenDone();
    },
  };
}
