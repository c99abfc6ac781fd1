// What the process of the sandbox service refuses, with the reason and what to do, and what it starts with all the same
// and warns of. Against the double of a provider.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { OPEN_KEY, openSandboxProcesses, SCOPED_KEY, type SandboxProcesses } from '#test/setup/sandbox-process.ts';

let processes: SandboxProcesses;
before(async () => {
  processes = await openSandboxProcesses();
});
after(() => processes.close());

const refusals: readonly (readonly [title: string, more: Record<string, string>, key: object, message: string])[] = [
  [
    'an AI gateway over plain HTTP',
    { SANDBOX_AI_URL: 'http://api.example.com/ai' },
    SCOPED_KEY,
    'SANDBOX_AI_URL must be the public https address of the API\'s /ai (https://api.example.com/ai), but is "http://api.example.com/ai"',
  ],
  [
    'an internal AI gateway',
    { SANDBOX_AI_URL: 'https://api:4002/ai' },
    SCOPED_KEY,
    'SANDBOX_AI_URL must be the public https address of the API\'s /ai (https://api.example.com/ai), but is "https://api:4002/ai"',
  ],
  [
    'an unrestricted key where one must be restricted',
    { HOSTED_REQUIRE_SCOPED_KEY: 'true' },
    OPEN_KEY,
    'HOSTED_REQUIRE_SCOPED_KEY: HOSTED_API_KEY is not restricted to certain actions; create a key with only the actions that docs/sandbox-provider.md lists',
  ],
  [
    'a template at another snapshot than the pinned one',
    { HOSTED_TEMPLATE: 'node', HOSTED_TEMPLATE_SNAPSHOT_ID: 's0' },
    SCOPED_KEY,
    'Template node is at snapshot s1, and HOSTED_TEMPLATE_SNAPSHOT_ID pins s0: look at what changed, then pin the new one',
  ],
  [
    'a provider over plain HTTP',
    { HOSTED_BASE_URL: 'http://provider.example.com' },
    SCOPED_KEY,
    'HOSTED_BASE_URL must be an https address without a key or a query, but is "http://provider.example.com"',
  ],
  [
    'containers without isolation',
    { SANDBOX_PROVIDER: 'container', SANDBOX_NETWORK_ISOLATION: 'false', FS_PATH: '/nonexistent' },
    SCOPED_KEY,
    'SANDBOX_NETWORK_ISOLATION is "false": sandboxes never have a network of their own. Remove this variable, or set it to true',
  ],
];

for (const [title, more, key, message] of refusals)
  test(`it does not start with ${title}, and says why`, async () => {
    Object.assign(processes.provider.key, key);
    assert.deepEqual(await processes.start(more), { code: 78, said: [message] });
  });

test('it warns of sandboxes of the provider before this one as long as there are some', async () => {
  Object.assign(processes.provider.key, SCOPED_KEY);
  await processes.sql.all(
    `INSERT INTO sandbox.sandbox (key, project, resource, id, provider, state)
     VALUES ('k1', 'shop', 'boxes', 'one', 'container', 'stopped')`,
  );
  assert.deepEqual(await processes.start({}), {
    code: 0,
    said: [
      '1 sandboxes are of another provider than hosted: the next call for each starts with empty files, and what they left there is to be removed there',
      'Sandbox service listening',
    ],
  });
  await processes.sql.all('DELETE FROM sandbox.sandbox');
  assert.deepEqual(await processes.start({}), { code: 0, said: ['Sandbox service listening'] });
});
