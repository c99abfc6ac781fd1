// The platform in this process keeps to what the private port answers: other tests take it for a whole one.
import { after, before } from 'node:test';
import { startPlatformHere, type PlatformHere } from '#test/setup/platform-here.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { keepsToPrivatePort, privatePortVariables } from './private-port.ts';

let platform: PlatformHere;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
before(async () => {
  database = await createTestDatabase();
  platform = await startPlatformHere({}, privatePortVariables, { postgres: database, engines: 2 });
});
after(async () => {
  await platform.close();
  await database.close();
});

keepsToPrivatePort(() => platform);
