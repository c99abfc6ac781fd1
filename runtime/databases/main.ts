// Root of the database service: reads the environment, starts the parent, reports its address and ends gracefully.
// The supervisor starts it, and `platform dev` starts it as a separate process.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { limitsFrom } from '#core/limits.ts';
import { replicaVariables } from '#core/s3/bucket-variables.ts';
import { parseInteger, parsePort } from '#core/parse-integer.ts';
import { tellFigures, type Figure } from '#core/process/figures.ts';
import { runProcess } from '#core/process/run-process.ts';
import { createDatabaseCloud } from '../stores/database-cloud.ts';
import { databaseCloudSettings } from '../stores/database-cloud-api.ts';
import { homeTimes } from './homes/homes-options.ts';
import { replicaSettings } from './replica/settings.ts';
import { startCloudService } from './service/cloud-service.ts';
import {
  startDatabaseService,
  type DatabaseService,
  type DatabaseServiceOptions,
  type TcpOptions,
} from './service/service.ts';

function fail(message: string): never {
  throw new Error(message);
}

function configuration(environment: NodeJS.ProcessEnv): DatabaseServiceOptions {
  const value = (name: string, otherwise = ''): string => {
    const text = environment[name];
    return text === undefined || text === '' ? otherwise : text;
  };
  const directory = value('DB_STORAGE_DIR');
  if (directory === '') fail('DB_STORAGE_DIR is not set: the folder of the project databases');
  const synchronous = value('DB_SYNCHRONOUS', 'normal');
  if (synchronous !== 'normal' && synchronous !== 'full')
    fail(`DB_SYNCHRONOUS must be normal or full, but is "${synchronous}"`);
  const shards = parseInteger('DB_SHARDS', value('DB_SHARDS', '2'), { least: 1, most: 64 });
  let tcp: TcpOptions | undefined;
  if (value('DB_SERVICE_PORT') !== '') {
    const token = value('DB_SERVICE_TOKEN');
    if (token.length < 16) fail('DB_SERVICE_PORT needs DB_SERVICE_TOKEN, a secret of at least 16 characters');
    const [key, cert] = [value('DB_SERVICE_TLS_KEY_FILE'), value('DB_SERVICE_TLS_CERT_FILE')];
    if ((key === '') !== (cert === '')) fail('DB_SERVICE_TLS_KEY_FILE and DB_SERVICE_TLS_CERT_FILE go together');
    const tls = key === '' ? {} : { tls: { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') } };
    tcp = {
      host: value('HOST', '127.0.0.1'),
      port: parsePort('DB_SERVICE_PORT', value('DB_SERVICE_PORT')),
      token,
      ...tls,
    };
  }
  const socketFolder = value('DB_SERVICE_SOCKETS');
  const replica = replicatorVariables(environment);
  const confirm = value('DB_REPLICATION');
  if (confirm !== '' && confirm !== 'confirm') fail(`DB_REPLICATION must be confirm or not set, but is "${confirm}"`);
  if (confirm !== '' && replica === null) fail('DB_REPLICATION=confirm needs the bucket of replicas: DB_REPLICA_S3_*');
  const limits = limitsFrom(environment).database;
  const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };
  const [machine, address] = [value('MACHINE_NAME'), value('MACHINE_ADDRESS')];
  // The supervisor sets both variables if other machines can reach its Postgres.
  const homes =
    tcp === undefined || machine === '' || address === ''
      ? {}
      : { homes: { machine, address, version, times: homeTimes(limits.leaseMs) } };
  return {
    directory,
    ...homes,
    confirms: confirm !== '',
    dataFolder: value('FS_PATH') || null,
    limits,
    shards,
    synchronous,
    ...(tcp === undefined ? {} : { tcp }),
    ...(socketFolder === '' ? {} : { socketFolder }),
    ...(replica === null ? {} : { replica }),
    report,
  };
}

/** Variables of the replicator; null if nothing is replicated. @throws {Error} when a variable is invalid. */
function replicatorVariables(environment: NodeJS.ProcessEnv): Record<string, string> | null {
  if (replicaSettings(environment) === null) return null;
  const kept = ['PATH', 'TZ', 'NODE_EXTRA_CA_CERTS', 'NODE_COMPILE_CACHE', 'DB_REPLICA_PREVIEWS'];
  return {
    ...Object.fromEntries(kept.map((name) => [name, environment[name] ?? ''])),
    ...replicaVariables(environment),
  };
}

const report = (message: string): void => void process.stderr.write(`databases: ${message}\n`);

/** Opens the service of this machine, or the service over a managed cloud, which replicates nothing. */
type RunningService = Pick<DatabaseService, 'socketPath' | 'close'> & Partial<DatabaseService>;

async function start(environment: NodeJS.ProcessEnv): Promise<RunningService> {
  const mode = environment['DB_STORAGE_MODE'] || 'basic';
  if (mode === 'basic') return startDatabaseService(configuration(environment));
  if (mode !== 'managed-cloud') fail(`DB_STORAGE_MODE must be basic or managed-cloud, but is "${mode}"`);
  const limits = limitsFrom(environment).database;
  const databases = createDatabaseCloud(databaseCloudSettings(environment), limits);
  const socketFolder = environment['DB_SERVICE_SOCKETS'] || null;
  return startCloudService({ databases, limits, ...(socketFolder === null ? {} : { socketFolder }), report });
}

function figuresOf(service: RunningService): Figure[] {
  const replica = service.replica?.() ?? null;
  return [
    ...(service.pids === undefined ? [] : [['platform_database_shards', {}, service.pids().length] as const]),
    ...(replica === null
      ? []
      : ([
          ['platform_database_replica_lag_seconds', {}, replica.lagMs / 1000],
          ['platform_database_replica_waiting', {}, replica.waiting],
          ['platform_database_replica_bytes_total', {}, replica.bytes],
          ['platform_database_replica_failing', {}, replica.problem === null ? 0 : 1],
        ] as const)),
  ];
}

const log = { fatal: report, warn: (_details: object, message: string) => report(message) };
await runProcess(log, async () => {
  const service = await start(process.env);
  const ready = { type: 'listening', socketPath: service.socketPath, port: service.port ?? null };
  if (process.send === undefined) process.stdout.write(`${JSON.stringify(ready)}\n`);
  else process.send(ready);
  tellFigures(() => figuresOf(service));
  // The supervisor sends the URL when Postgres is ready.
  process.on('message', ({ type, url }: { readonly type?: unknown; readonly url?: unknown }) => {
    if (type === 'postgres' && typeof url === 'string') service.usePostgres?.(url);
  });
  return () => service.close();
});
