// A supervisor with two engines keeps to what the private port answers.
import { after, before } from 'node:test';
import { keepsToPrivatePort, privatePortVariables } from '#test/contract/private-port.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform({}, { DATABASE_URL: '', HANDLER_PROCESSES: '2', ...privatePortVariables });
});
after(() => platform.close());

keepsToPrivatePort(() => platform, 2);
