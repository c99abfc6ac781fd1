// The process of the sandbox service, started against the double of a provider: what it says, and how it ends.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { root } from '#cli/tasks/tools/processes.ts';
import { nodeFlags } from '#core/node-flags.mjs';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { openSandboxRole } from '#postgres/sandbox-role.ts';
import { startHostedProvider, type FakeHostedProvider } from './hosted-provider.ts';
import { createTestDatabase } from './postgres.ts';

const KEY = 'hosted-key-of-the-double';

export const SCOPED_KEY = { scoped: true, actions: ['sandbox.create', 'exec'], expiresAt: '2999-01-01T00:00:00Z' };
export const OPEN_KEY = { scoped: false, actions: [], expiresAt: '2999-01-01T00:00:00Z' };

export interface SandboxProcesses {
  readonly sql: Postgres;
  readonly provider: FakeHostedProvider;
  /** Messages of its log, until it listens or has ended. */
  start(more: Readonly<Record<string, string>>): Promise<{ code: number | null; said: string[] }>;
  close(): Promise<void>;
}

export async function openSandboxProcesses(): Promise<SandboxProcesses> {
  const database = await createTestDatabase();
  const sql = openPostgres({ url: database.url, name: 'test', connectionsMax: 1 });
  const provider = await startHostedProvider();
  const environment: Readonly<Record<string, string>> = {
    PATH: process.env['PATH']!,
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
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
  return {
    sql,
    provider,
    async start(more) {
      const child = spawn(process.execPath, [...nodeFlags, path.join(root, 'sandbox/main.ts')], {
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
    },
    async close() {
      await provider.close();
      await sql.close();
      await database.close();
    },
  };
}
