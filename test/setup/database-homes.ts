// Database services as on several machines, for tests: real processes that are killed and stopped with all that they
// started, each with a folder of its own, over one Postgres.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultLimits, type DatabaseLimits } from '#core/limits.ts';
import { openPostgres } from '#postgres/connection.ts';
import { createDatabaseClient, type DatabaseClient } from '#runtime/stores/database-service.ts';
import { variablesOf, type S3Server } from './s3-server.ts';
import { until } from './until.ts';

/** Of all services of tests. */
const token = 'a secret of the operator';
/** Short, so that a takeover is; long enough for a busy machine. */
export const LEASE_MS = 2000;

/** A service that runs as a machine's. */
export interface TestHome {
  readonly machine: string;
  readonly directory: string;
  /** As an engine of its machine. */
  readonly client: DatabaseClient;
  readonly reports: string[];
  /** Sends a signal to all of its processes. */
  signal(signal: NodeJS.Signals): void;
  /** Ends all of its processes at once, as a lost machine. */
  kill(): Promise<void>;
  /** Ends it as a stop of the platform does. */
  stop(): Promise<void>;
}

interface HomeOptions {
  readonly machine: string;
  readonly postgresUrl: string;
  readonly s3: S3Server;
  readonly isReplicated?: boolean;
  readonly directory?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly limits?: Partial<DatabaseLimits>;
}

/** Waits until all services have a lease: what a service has while it is alone is not taken from it. */
export async function allLeased(postgresUrl: string, services: number): Promise<void> {
  const sql = openPostgres({ url: postgresUrl, name: 'test', connectionsMax: 1, schema: 'binding' });
  try {
    await until(async () => (await sql.all('SELECT FROM database_service WHERE is_leased')).length === services);
  } finally {
    await sql.close();
  }
}

/** Starts a service. */
export async function startHome(options: HomeOptions): Promise<TestHome> {
  const { machine, postgresUrl, s3 } = options;
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), 'platform-test-')));
  const sockets = await mkdtemp(join(tmpdir(), 'platform-db-'));
  const child = fork(join(import.meta.dirname, '../../runtime/databases/main.ts'), {
    execArgv: [
      ...process.execArgv.filter((flag) => !flag.startsWith('--test')),
      '--disable-warning=ExperimentalWarning',
    ],
    env: {
      PATH: process.env['PATH'] ?? '',
      DB_STORAGE_DIR: directory,
      DB_SERVICE_SOCKETS: sockets,
      DB_SERVICE_PORT: '0',
      DB_SERVICE_TOKEN: token,
      DB_LEASE_MS: String(LEASE_MS),
      DB_REPLICA_INTERVAL_MS: '100',
      DB_SHARDS: '1',
      MACHINE_NAME: machine,
      MACHINE_ADDRESS: '127.0.0.1',
      ...(options.isReplicated !== false && {
        ...variablesOf(s3, 'DB_REPLICA_S3'),
        DB_REPLICA_S3_BUCKET: s3.bucket,
        ...options.environment,
      }),
    },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const reports: string[] = [];
  child.stderr!.setEncoding('utf8').on('data', (text: string) => reports.push(...text.trim().split('\n')));
  const [ready] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => {
      throw new Error(`the service did not start: ${reports.join('\n')}`);
    }),
  ])) as [{ socketPath: string }];
  child.send({ type: 'postgres', url: postgresUrl });
  const limits = { ...defaultLimits.database, ...options.limits };
  const client = createDatabaseClient({ addresses: [{ socketPath: ready.socketPath }], token }, limits);
  const end = async (): Promise<void> => {
    client.close();
    await rm(sockets, { recursive: true, force: true });
  };
  return {
    machine,
    directory,
    client,
    reports,
    signal: (signal) => signalAll(child, signal),
    async kill() {
      const gone = once(child, 'exit');
      signalAll(child, 'SIGKILL');
      await gone;
      await end();
    },
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        const gone = once(child, 'exit');
        signalAll(child, 'SIGCONT');
        child.kill('SIGTERM');
        await gone;
      }
      await end();
    },
  };
}

function signalAll(child: ChildProcess, signal: NodeJS.Signals): void {
  // The service first: it would start again what ends.
  for (const pid of [child.pid!, ...childrenOf(child.pid!)])
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended.
    }
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/).filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** The way of a service to Postgres, which a test can cut. */
export interface PostgresWay {
  readonly url: string;
  /** From now on nothing passes: a connection neither answers nor ends. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

/** Opens a way of its own. @param url `postgres://...` with a host and a port. */
export async function startPostgresWay(url: string): Promise<PostgresWay> {
  const target = new URL(url);
  const folder = target.searchParams.get('host');
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((socket) => {
    const onward = folder?.startsWith('/')
      ? createConnection(join(folder, `.s.PGSQL.${target.port || '5432'}`))
      : createConnection(Number(target.port || 5432), target.hostname);
    for (const [from, to] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {});
      from.on('data', (chunk) => isCut || to.write(chunk));
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const own = new URL(url);
  own.searchParams.delete('host');
  own.hostname = '127.0.0.1';
  own.port = String((server.address() as AddressInfo).port);
  return {
    url: own.href,
    cut: () => (isCut = true),
    mend() {
      isCut = false;
      // What was lost of a connection makes it useless.
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
