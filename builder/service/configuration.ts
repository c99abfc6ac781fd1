// The builder's settings, read once when it starts. Missing or invalid values are refused by name, with the fix.
import { buildExecutor, type SandboxExecutor } from '#core/sandbox/build-executor.ts';
import { encryptionKeys, type EncryptionKeys } from '#core/encryption.ts';
import { limitsFrom, type Limits } from '#core/limits.ts';
import { isHttpsOn } from '#core/public-https.ts';
import { parseInteger, parsePort } from '#core/parse-integer.ts';
import type { PublicAddress } from './jobs/build-input.ts';

/** Settings of the builder. */
interface BuilderConfig {
  /** `DATABASE_URL`, or the URL of the embedded server, passed by the supervisor. */
  readonly databaseUrl: string;
  /** `FS_PATH`. */
  readonly folder: string;
  /** `ENCRYPTION_KEY`. */
  readonly keys: EncryptionKeys;
  /** `BUILD_CONCURRENCY`; by default, it depends on the machine's memory. */
  readonly concurrency: number;
  /** `BUILD_WORK_DIR`: parent of checkouts; null means a folder in the data folder. */
  readonly workFolder: string | null;
  readonly address: PublicAddress;
  /** `BUILD_EXECUTOR=sandbox`; null means that builds run on this machine. */
  readonly sandboxes: SandboxExecutor | null;
  /** Includes the memory available to a build on this machine. */
  readonly limits: Limits;
}

const GB = 1024 ** 3;
const MB = 1024 ** 2;
/** Machines with less memory run one build at a time. */
const TWO_BUILDS_BYTES = 4 * GB;
/** The share of the machine's memory for all builds together. */
const MEMORY_SHARE = 0.75;
const BUILDS_MAX = 64;

/**
 * @param memoryBytes the memory of the machine, or of our control group. @throws {Error} that names the variable, its
 * value and the accepted values; never the value of a secret.
 */
export function builderConfig(
  environment: Readonly<Record<string, string | undefined>>,
  memoryBytes: number,
): BuilderConfig {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  for (const name of ['DATABASE_URL', 'FS_PATH'])
    if (get(name) === '') throw new Error(`${name} is not set: the builder is started by the supervisor (npm start)`);
  const limits = limitsFrom(environment);
  const concurrency = concurrencyOf(limits.build.concurrency, get('WORKER_CONCURRENCY'), memoryBytes);
  const memoryMb = Math.max(64, Math.floor((memoryBytes * MEMORY_SHARE) / concurrency / MB));
  const isOwn = get('PUBLIC_PROTOCOL') === '' && isHttpsOn(get('PUBLIC_HTTPS'));
  const protocol = isOwn || get('PUBLIC_PROTOCOL') === 'https' ? 'https' : 'http';
  const handlerPort = parsePort('HANDLER_PORT', get('HANDLER_PORT') || '4001');
  const ownPort = protocol === 'https' ? 443 : handlerPort;
  const port = get('PUBLIC_PORT') === '' ? ownPort : parsePort('PUBLIC_PORT', get('PUBLIC_PORT'));
  return {
    databaseUrl: get('DATABASE_URL'),
    folder: get('FS_PATH'),
    keys: encryptionKeys(get('ENCRYPTION_KEY')),
    concurrency,
    workFolder: get('BUILD_WORK_DIR') || null,
    sandboxes: buildExecutor(environment),
    address: {
      protocol,
      domain: get('HANDLER_DOMAIN').split(',')[0]!.trim() || 'localhost',
      port: port === (protocol === 'https' ? 443 : 80) ? null : port,
    },
    limits: {
      ...limits,
      build: { ...limits.build, concurrency, memoryMbMax: Math.min(limits.build.memoryMbMax, memoryMb) },
    },
  };
}

/**
 * The number of concurrent builds: the requested number, or a default by memory, which `WORKER_CONCURRENCY` can lower.
 */
function concurrencyOf(asked: number, workers: string, memoryBytes: number): number {
  if (asked > 0) return Math.min(asked, BUILDS_MAX);
  const byMemory = memoryBytes < TWO_BUILDS_BYTES ? 1 : 2;
  return workers === '' ? byMemory : Math.min(byMemory, parseInteger('WORKER_CONCURRENCY', workers, { least: 1 }));
}
