// A database service with its client for tests: real processes, a folder of its own.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext } from 'node:test';
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
  options: {
    readonly shards?: number;
    readonly tcp?: TcpOptions;
    readonly synchronous?: 'normal' | 'full';
    /** Where the files are, default a folder of its own. */
    readonly directory?: string;
    /** `FS_PATH`: what organizations may keep is read there. */
    readonly dataFolder?: string;
    /** Variables of the replicator. */
    readonly replica?: Readonly<Record<string, string>>;
    /** Writes wait for the replica. */
    readonly confirms?: boolean;
    /** The folder is kept when it is closed. */
    readonly keeps?: boolean;
  } = {},
): Promise<TestDatabases> {
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), 'platform-test-')));
  const limits = { ...defaultLimits.database, ...overrides };
  const reports: string[] = [];
  const { tcp } = options;
  const service = await startDatabaseService({
    directory,
    limits,
    shards: options.shards ?? 1,
    synchronous: options.synchronous ?? 'normal',
    dataFolder: options.dataFolder ?? null,
    confirms: options.confirms === true,
    ...(tcp === undefined ? {} : { tcp }),
    ...(options.replica === undefined ? {} : { replica: options.replica }),
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
      if (options.keeps !== true) await rm(directory, { recursive: true, force: true });
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

/** A service that the tests of a file share, each with a namespace of its own. */
interface SharedDatabases {
  /** What a test needs of it. @param namespace that no other test of the file names. */
  of(namespace: string): Namespace;
}

interface Namespace extends Omit<TestDatabases, 'close'> {
  /** Its database `main`. */
  readonly at: typeof at;
  /** Where its files are. */
  readonly folder: string;
  place(resource: string): typeof at;
  /** As {@link ask}, of its database `main` where no other is named. */
  ask(op: number, args: unknown, place?: typeof at, transaction?: number): Promise<Record<string, unknown>>;
  query(sql: string, values?: unknown[], place?: typeof at): Promise<unknown>;
}

/** Starts a service before the tests of the file that calls this, and closes it after them. */
export function shareDatabases(...options: Parameters<typeof startDatabases>): SharedDatabases {
  let databases: TestDatabases;
  before(async () => {
    databases = await startDatabases(...options);
  });
  after(() => databases.close());
  return {
    of(namespace) {
      const main = { namespace, resource: 'main' };
      return {
        ...databases,
        at: main,
        folder: join(databases.directory, namespace),
        place: (resource) => ({ namespace, resource }),
        ask: (op, args, place = main, transaction = 0) => ask(databases.client, op, args, place, transaction),
        query: (sql, values = [], place = main) => query(databases.client, sql, values, place),
      };
    },
  };
}
