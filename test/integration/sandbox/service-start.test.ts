// How the process of the sandbox service starts, or says why it does not. Against the double of a provider;
// test/machines/service-start.test.ts has all that it refuses.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { OPEN_KEY, openSandboxProcesses, SCOPED_KEY, type SandboxProcesses } from '#test/setup/sandbox-process.ts';

let processes: SandboxProcesses;
before(async () => {
  processes = await openSandboxProcesses();
});
after(() => processes.close());

test('it does not start with what it cannot use, and says why', async () => {
  Object.assign(processes.provider.key, SCOPED_KEY);
  assert.deepEqual(await processes.start({ SANDBOX_AI_URL: '' }), {
    code: 78,
    said: ['SANDBOX_PROVIDER=hosted needs SANDBOX_AI_URL'],
  });
});

test('it starts with an unrestricted key, and warns of it', async () => {
  Object.assign(processes.provider.key, OPEN_KEY);
  assert.deepEqual(await processes.start({}), {
    code: 0,
    said: [
      'HOSTED_API_KEY is not restricted to certain actions; create a key with only the actions that docs/sandbox-provider.md lists',
      'Sandbox service listening',
    ],
  });
});
