// Exposed ports in memory, and as the sandbox service keeps them: as its own role.
import { openPostgres } from '#postgres/connection.ts';
import { openSandboxRole } from '#postgres/sandbox-role.ts';
import { createMemoryPorts } from '#sandbox/service/exposed-ports-memory.ts';
import { createPostgresPorts } from '#sandbox/service/exposed-ports-postgres.ts';
import { createMemoryRows } from '#sandbox/service/rows-memory.ts';
import { createPostgresRows } from '#sandbox/service/rows-postgres.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { testExposedPorts } from './exposed-ports.ts';
import { PER_PROJECT_MAX, TIMES } from './sandbox-rows.ts';

const common = { provider: 'local', perProjectMax: PER_PROJECT_MAX, times: TIMES };

testExposedPorts('memory', async () => {
  const rows = createMemoryRows(common);
  return { rows, ports: createMemoryPorts(rows), close: () => rows.close() };
});

testExposedPorts('postgres', async () => {
  const database = await createTestDatabase();
  const owner = openPostgres({ url: database.url, name: 'test', connectionsMax: 1 });
  const url = await openSandboxRole(owner, database.url);
  const sql = openPostgres({ url, name: 'test', connectionsMax: 2 });
  const rows = createPostgresRows({ ...common, sql, owner: 'here http://10.0.0.1:80', leaseMs: 60_000 });
  return {
    rows,
    ports: createPostgresPorts(sql),
    async close() {
      await Promise.all([rows.close(), owner.close()]);
      await database.close();
    },
  };
});
