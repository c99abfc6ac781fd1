// A database service with its client for tests: real processes, a folder of its own.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type DatabaseLimits, defaultLimits } from '#core/limits.ts';
import { ops } from '#runtime/databases/protocol/frames.ts';
import { startDatabaseService, type DatabaseService, type TcpOptions } from '#runtime/databases/service/service.ts';
import { createDatabaseClient, type DatabaseClient } from '#runtime/stores/database-service.ts';

/** A service under test. */
export interface TestDatabases {
  readonly service: DatabaseService;
  readonly client: DatabaseClient;
  /** Where the files are. */
  readonly directory: string;
  /** What the operator was told. */
  readonly reports: string[];
  close(): Promise<void>;
}

/** Starts a service of one shard, or as many as asked for. */
export async function startDatabases(
  overrides: Partial<DatabaseLimits> = {},
  options: { readonly shards?: number; readonly tcp?: TcpOptions; readonly synchronous?: 'normal' | 'full' } = {},
): Promise<TestDatabases> {
  const directory = await mkdtemp(join(tmpdir(), 'platform-test-'));
  const limits = { ...defaultLimits.database, ...overrides };
  const reports: string[] = [];
  const { tcp } = options;
  const service = await startDatabaseService({
    directory,
    limits,
    shards: options.shards ?? 1,
    synchronous: options.synchronous ?? 'normal',
    ...(tcp === undefined ? {} : { tcp }),
    report: (message) => reports.push(message),
  });
  const client = createDatabaseClient({ socketPath: service.socketPath }, limits);
  return {
    service,
    client,
    directory,
    reports,
    async close() {
      client.close();
      await service.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** One for a test, closed after it. */
export async function startFor(t: TestContext, ...options: Parameters<typeof startDatabases>): Promise<TestDatabases> {
  const databases = await startDatabases(...options);
  t.after(() => databases.close());
  return databases;
}

/** The database that is asked where none is named. */
export const at = { namespace: 'shop', resource: 'main' };

/** The answer to one request. */
export async function ask(
  client: DatabaseClient,
  op: number,
  args: unknown,
  place = at,
  transaction = 0,
): Promise<Record<string, unknown>> {
  return JSON.parse((await client.run(place, op, transaction, JSON.stringify(args))) as string) as Record<
    string,
    unknown
  >;
}

/** Rows, or the refusal. */
export async function query(client: DatabaseClient, sql: string, values: unknown[] = [], place = at): Promise<unknown> {
  const { e, r } = await ask(client, ops.query, [sql, values], place);
  return e ?? r;
}
