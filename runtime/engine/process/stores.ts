// The stores of an engine in production, chosen by its environment: Postgres for state, queues, timers and workflows,
// the database service, a folder or S3 for files, Redis or Postgres for the cache. main.ts opens them. Each connects on
// first use, and libraries of unused stores are not loaded.
import { createHmac, randomBytes } from 'node:crypto';
import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { type Limits, limitsFrom } from '#core/limits.ts';
import { bucketFrom } from '#core/s3/bucket-variables.ts';
import { FreeSpace, whereThereIsSpace } from '#core/process/free-space.ts';
import { StorageGuard, type KeptBytes } from '#core/storage-left.ts';
import type { HostWork } from '../work/host-work.ts';
import { createAuthRoutes, type AuthRoutes } from '../auth/routes.ts';
import { createUsers } from '../auth/users.ts';
import type { BindingStores, BranchStores } from '../bindings/bindings.ts';
import type { ProjectStores } from '../kinds/project-removal.ts';
import type { CacheStore } from '../bindings/cache.ts';
import type { FileStore } from '../bindings/files.ts';
import type { ObjectLeases } from '../bindings/object-leases.ts';
import { createClientAddress } from '../http/client-address.ts';
import { createGates, type PassGate } from '../http/gates.ts';
import { PreviewAttempts } from '../http/preview-attempts.ts';
import { createSignedFiles, type SignedFiles } from '../http/signed-files.ts';
import { createMemoryCache } from '../../stores/cache-memory.ts';
import { createCachePostgres } from '../../stores/cache-postgres.ts';
import { createMailByPost } from './mail-by-post.ts';
import { createDatabaseClient, databaseAddress, type DatabaseClient } from '../../stores/database-service.ts';
import { limitedStores, type EventStores } from '../../stores/event-stores.ts';
import { openEventsPostgres } from '../../stores/event-stores-postgres.ts';
import { openFilesDisk } from '../../stores/files-disk.ts';
import { createObjectLeases } from '../../stores/object-leases-postgres.ts';
import { createOutbox } from '../../stores/outbox.ts';
import { limitState, stateLimit, stateBytesOf } from '../../stores/project-limits.ts';
import { createMailPostgres } from '../../stores/mail-postgres.ts';
import { createStatePostgres } from '../../stores/state-postgres.ts';
import { limitByProject } from '../../stores/project-concurrency.ts';

/** The file store, which also reports the stored bytes of each namespace. */
type CountedFiles = FileStore & { kept(): Promise<ReadonlyMap<string, number>> };

/** Stores for the handler. */
export interface EngineStores {
  readonly stores: BindingStores;
  readonly cache: CacheStore;
  readonly signedFiles: SignedFiles | null;
  /** Databases of projects; null without a database service. */
  readonly databases: DatabaseClient | null;
  /** The stored bytes of this engine's files and databases, by namespace; null if unknown. */
  readonly kept: () => Promise<KeptBytes>;
  /** The stores with data of branches and projects. */
  readonly branchStores: Omit<BranchStores & ProjectStores, 'databases' | 'sandboxes'>;
  /** The schedules; null without Postgres. */
  readonly cron: EventStores['cron'] | null;
  readonly authRoutes: AuthRoutes | null;
  readonly passGate: PassGate;
  /** The secret that signs the tokens of events for servers, which is the same for all engines of a platform. */
  readonly eventsKey: Uint8Array;
  /** Determines which engine has a durable object; null without Postgres, because this engine then has all objects. */
  readonly objectLeases: ObjectLeases | null;
  /** Closes connections without waiting. */
  close(): void;
}

/** Dependencies. */
interface EngineStoresDeps {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** `FS_PATH`. */
  readonly folder: string;
  readonly limits: Limits;
  readonly work: HostWork;
  /** Protocol under which visitors reach apps. */
  readonly protocol: 'http' | 'https';
  /** `PUBLIC_PORT`; null means the port of the request. */
  readonly publicPort: number | null;
  /** Addresses and CIDR ranges of trusted proxies. */
  readonly trustedProxies: readonly string[];
  readonly edgeToken: string;
  /** Path of this engine's socket for forwarded requests; empty if this engine has none. */
  readonly link?: string;
  readonly log: (level: 'warn' | 'error', message: string) => void;
  /** The parameter N of scrypt, for tests. */
  readonly passwordCost?: number;
  /** Lease of this engine's durable objects, for tests. */
  readonly objectLeaseMs?: number;
}

/** @throws {Error} naming an invalid variable, or when Redis cannot be reached. */
export async function openEngineStores({
  environment,
  folder,
  limits,
  protocol,
  publicPort,
  trustedProxies,
  edgeToken,
  work,
  link = '',
  log,
  passwordCost,
  objectLeaseMs,
}: EngineStoresDeps): Promise<EngineStores> {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const deliveryLimits = limitsFrom(environment).delivery;
  const url = get('ENGINE_DATABASE_URL');
  const events = url === '' ? null : openEventsPostgres({ url, name: 'platform engine', limits: deliveryLimits });
  const address = databaseAddress(environment);
  const databases = address === null ? null : createDatabaseClient(address, limitsFrom(environment).database);
  const outbox =
    events === null || databases === null
      ? null
      : createOutbox({
          databases,
          queue: events.queue,
          index: events.outboxes,
          limits: deliveryLimits,
          now: Date.now,
          log,
          owns: (namespace, project) => namespace === project,
        });
  const secret = get('ENGINE_SECRET');
  const keyFor = (use: string): Uint8Array => createHmac('sha256', secret).update(use).digest();
  const space = new FreeSpace(folder, limits.diskFreeBytesMin, statfsSync);
  const storage = new StorageGuard(folder);
  const files = await openFiles(get, folder, limits, space, storage);
  // The embedded database stores its data on the same disk.
  const ofEvents = isLocal(url) ? space : new FreeSpace(folder, 0, statfsSync);
  const users =
    databases === null || secret === ''
      ? null
      : createUsers({
          databases,
          work,
          secret: keyFor('auth'),
          protocol,
          ...(events === null || get('AUTH_MAIL_URL') !== ''
            ? createMailByPost(get('AUTH_MAIL_URL'), log)
            : createMailPostgres(events.sql, log)),
          log,
          ...(passwordCost === undefined ? {} : { passwordCost }),
        });
  const state =
    events === null
      ? null
      : whereThereIsSpace(
          limitState(
            createStatePostgres(events.sql),
            stateLimit((namespace) => stateBytesOf(events.sql, namespace), limits.projectStateBytesMax, storage),
          ),
          ofEvents,
          ['put', 'update'],
        );
  const openCache = async (): Promise<CacheStore> => {
    const cacheUrl = get('ENGINE_CACHE_URL');
    if (cacheUrl === '')
      return events === null
        ? createMemoryCache({ bytesMax: limits.cacheBytesMax })
        : createCachePostgres(events.sql, { recordsMax: limits.cacheRecordsMax });
    const { openCacheRedis } = await import('../../stores/cache-redis.ts');
    return openCacheRedis(cacheUrl, (error) => log('warn', `cache unreachable: ${error.message}`));
  };
  const objectLeases =
    events === null
      ? null
      : createObjectLeases({
          sql: events.sql,
          link,
          log: (message) => log('warn', message),
          ...(objectLeaseMs === undefined ? {} : { leaseMs: objectLeaseMs }),
        });
  return {
    objectLeases,
    stores: {
      database: databases,
      state,
      files,
      auth: users,
      events:
        events === null
          ? null
          : {
              ...limitedStores(events, {
                space: ofEvents,
                storage,
                queueBytesMax: limits.projectQueueBytesMax,
                limit: limitByProject(),
              }),
              limits: deliveryLimits,
              outbox,
            },
    },
    cache: await openCache(),
    databases,
    kept: async () => {
      const [ofFiles, ofDatabases] = await Promise.all([files.kept(), databases?.kept() ?? null]);
      return {
        files: Object.fromEntries(ofFiles),
        databases: ofDatabases,
        areLocal: { files: get('FILES_S3_BUCKET') === '', databases: address !== null && 'socketPath' in address },
      };
    },
    branchStores: { state, files, events },
    cron: events?.cron ?? null,
    signedFiles: secret === '' ? null : createSignedFiles(files, keyFor('files'), limits.bodyBytesMax),
    authRoutes: users === null ? null : createAuthRoutes(users),
    passGate: createGates({
      // The signatures of a standalone engine are valid until the process exits.
      secret: secret === '' ? randomBytes(32) : keyFor('previews'),
      protocol,
      publicPort,
      attempts: new PreviewAttempts(),
      addressOf: createClientAddress(trustedProxies, edgeToken),
    }),
    eventsKey: secret === '' ? randomBytes(32) : keyFor('events'),
    close() {
      objectLeases?.close();
      void outbox?.close();
      databases?.close();
      void events?.close();
    },
  };
}

/** Whether the server is reached over a Unix socket, like the embedded server in the data folder. */
function isLocal(url: string): boolean {
  return URL.parse(url)?.searchParams.get('host')?.startsWith('/') === true;
}

/** The files are in a bucket if one is configured, otherwise in a folder. */
async function openFiles(
  get: (name: string) => string,
  folder: string,
  limits: Limits,
  space: FreeSpace,
  storage: StorageGuard,
): Promise<CountedFiles> {
  const bucket = bucketFrom(get, 'FILES_S3', 'Files');
  if (bucket === null)
    return openFilesDisk(join(folder, 'files'), { namespaceBytesMax: limits.projectFileBytesMax, space, storage });
  const { openFilesS3 } = await import('../../stores/files-s3.ts');
  return openFilesS3({
    ...bucket,
    uploadBytesHeldMax: limits.uploadBytesHeldMax,
    storage,
  });
}
