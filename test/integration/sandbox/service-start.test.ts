// How the process of the sandbox service starts: what it refuses, with the reason and what to do, and what it starts
// with all the same and warns of. Against the double of a provider.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { nodeFlags } from '#core/node-flags.mjs';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { openSandboxRole } from '#postgres/sandbox-role.ts';
import { root } from '#cli/tasks/processes.ts';
import { startHostedProvider, type HostedProviderDouble } from '#test/setup/hosted-provider.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';

const KEY = 'hosted-key-of-the-double';
const SCOPED = { scoped: true, actions: ['sandbox.create', 'exec'], expiresAt: '2999-01-01T00:00:00Z' };
const OPEN = { scoped: false, actions: [], expiresAt: '2999-01-01T00:00:00Z' };

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let sql: Postgres;
let provider: HostedProviderDouble;
let environment: Record<string, string>;

before(async () => {
  database = await createTestDatabase();
  sql = openPostgres({ url: database.url, name: 'test', connectionsMax: 1 });
  provider = await startHostedProvider();
  environment = {
    PATH: process.env['PATH']!,
    NODE_EXTRA_CA_CERTS: path.join(root, 'test/fixtures/tls/localhost.crt'),
    LOG_FORMAT: 'json',
    SANDBOX_PORT: '0',
    SANDBOX_PROVIDER: 'hosted',
    SANDBOX_AUTH_TOKEN: 'b7c9d1e3f5a7b9c1d3e5f7a9b1c3d5e7',
    SANDBOX_DATABASE_URL: await openSandboxRole(sql, database.url),
    HOSTED_API_KEY: KEY,
    HOSTED_ORG: 'acme',
    HOSTED_BASE_URL: provider.baseUrl,
    SANDBOX_AI_URL: 'https://api.example.com/ai',
  };
});
after(async () => {
  await provider?.close();
  await sql?.close();
  await database?.close();
});

/** Messages of its log, until it listens or has ended. */
async function start(more: Readonly<Record<string, string>>): Promise<{ code: number | null; said: string[] }> {
  const child = spawn(process.execPath, [...nodeFlags, path.join(root, 'runtime/sandbox/service/main.ts')], {
    env: { ...environment, ...more },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const said: string[] = [];
  let rest = '';
  for await (const chunk of child.stdout.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    for (const line of lines) said.push((JSON.parse(line) as { msg: string }).msg);
    if (said.includes('Sandbox service listening')) child.kill('SIGTERM');
  }
  const code = await ended;
  assert.equal(said.join().includes(KEY), false);
  return { code, said };
}

const refusals: readonly (readonly [title: string, more: Record<string, string>, key: object, message: string])[] = [
  [
    'an AI gateway over plain HTTP',
    { SANDBOX_AI_URL: 'http://api.example.com/ai' },
    SCOPED,
    'SANDBOX_AI_URL must be the public https address of the API\'s /ai (https://api.example.com/ai), but is "http://api.example.com/ai"',
  ],
  [
    'an internal AI gateway',
    { SANDBOX_AI_URL: 'https://api:4002/ai' },
    SCOPED,
    'SANDBOX_AI_URL must be the public https address of the API\'s /ai (https://api.example.com/ai), but is "https://api:4002/ai"',
  ],
  ['no AI gateway', { SANDBOX_AI_URL: '' }, SCOPED, 'SANDBOX_PROVIDER=hosted needs SANDBOX_AI_URL'],
  [
    'an unrestricted key where one must be restricted',
    { HOSTED_REQUIRE_SCOPED_KEY: 'true' },
    OPEN,
    'HOSTED_REQUIRE_SCOPED_KEY: HOSTED_API_KEY is not restricted to actions; make a key with the actions of docs/sandbox-provider.md, and no others',
  ],
  [
    'a template at another snapshot than the pinned one',
    { HOSTED_TEMPLATE: 'node', HOSTED_TEMPLATE_SNAPSHOT_ID: 's0' },
    SCOPED,
    'Template node is at snapshot s1, and HOSTED_TEMPLATE_SNAPSHOT_ID pins s0: look at what changed, then pin the new one',
  ],
  [
    'a provider over plain HTTP',
    { HOSTED_BASE_URL: 'http://provider.example.com' },
    SCOPED,
    'HOSTED_BASE_URL must be an https address without a key or a query, but is "http://provider.example.com"',
  ],
  [
    'containers without isolation',
    { SANDBOX_PROVIDER: 'container', SANDBOX_NETWORK_ISOLATION: 'false', FS_PATH: '/nonexistent' },
    SCOPED,
    'SANDBOX_NETWORK_ISOLATION is "false": sandboxes have no network of their own, which cannot be switched off. Leave it out, or say true',
  ],
];

for (const [title, more, key, message] of refusals)
  test(`it does not start with ${title}, and says why`, async () => {
    Object.assign(provider.key, key);
    assert.deepEqual(await start(more), { code: 78, said: [message] });
  });

test('it starts with an unrestricted key, and warns of it', async () => {
  Object.assign(provider.key, OPEN);
  assert.deepEqual(await start({}), {
    code: 0,
    said: [
      'HOSTED_API_KEY is not restricted to actions; make a key with the actions of docs/sandbox-provider.md, and no others',
      'Sandbox service listening',
    ],
  });
});

test('it warns of sandboxes of the provider before this one as long as there are some', async () => {
  Object.assign(provider.key, SCOPED);
  await sql.all(
    `INSERT INTO sandbox.sandbox (key, project, resource, id, provider, state)
     VALUES ('k1', 'shop', 'boxes', 'one', 'container', 'stopped')`,
  );
  assert.deepEqual(await start({}), {
    code: 0,
    said: [
      '1 sandboxes are of another provider than hosted: the next call for each starts with empty files, and what they left there is to be removed there',
      'Sandbox service listening',
    ],
  });
  await sql.all('DELETE FROM sandbox.sandbox');
  assert.deepEqual(await start({}), { code: 0, said: ['Sandbox service listening'] });
});
