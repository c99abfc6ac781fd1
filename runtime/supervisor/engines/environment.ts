// The environment of an engine contains only the settings that it reads. An engine shares its memory with hostile code,
// so it must not contain keys and passwords of other services.
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { limitVariables } from '#core/limits.ts';
import { cacheFolder, openCacheFolder } from '#core/process/cache-folder.ts';

const system = 'PATH HOME LANG TZ TMPDIR XDG_CACHE_HOME NODE_ENV NODE_EXTRA_CA_CERTS NODE_COMPILE_CACHE';
const handler =
  'FS_PATH HANDLER_PORT HANDLER_HOST HANDLER_DOMAIN HANDLER_LISTENER PUBLIC_PROTOCOL PUBLIC_HTTPS PUBLIC_PORT LOG_LEVEL LOG_REQUESTS LOG_FORMAT NO_COLOR PLATFORM_CACHE_DIR TRUSTED_PROXIES WORKER_EGRESS_ALLOW WORKER_DNS_SERVERS DB_URL DB_SERVICE_TOKEN DB_MIGRATIONS_EXECUTOR ENGINE_DATABASE_URL ENGINE_CACHE_URL AUTH_MAIL_URL ENGINE_AI_SOCKET ENGINE_AI_ORIGIN ENGINE_AI_URL TRACE_SAMPLE_RATE';
const files =
  'FILES_S3_ENDPOINT FILES_S3_BUCKET FILES_S3_REGION FILES_S3_ACCESS_KEY_ID FILES_S3_SECRET_ACCESS_KEY FILES_S3_PREFIX';

/**
 * Node's compile cache for the platform's own sources: `NODE_COMPILE_CACHE`, else a part of the cache folder. Null
 * means that there is no trusted folder, and everything is compiled at each start.
 */
export function compileCache(environment: Readonly<Record<string, string | undefined>>): string | null {
  const given = environment['NODE_COMPILE_CACHE'];
  if (given !== undefined && given !== '') return given;
  const folder = cacheFolder(environment);
  try {
    openCacheFolder(folder);
    return join(folder, 'node');
  } catch {
    return null;
  }
}

const names = new Set<string>([...system.split(' '), ...handler.split(' '), ...files.split(' '), ...limitVariables]);

/** Settings of an engine, regardless of the operator's environment. */
export const engineProcessSettings = {
  // Node's thread pool: the share of workers (work/host-work.ts), and as much again for files and DNS.
  UV_THREADPOOL_SIZE: '8',
  // glibc gives each thread its own arena, up to eight per core: buffers of a worker that runs on different threads
  // would never reuse recently freed memory. Half of the cores as the number of arenas was only measured on two cores.
  MALLOC_ARENA_MAX: String(Math.max(1, Math.floor(availableParallelism() / 2))),
} as const;

/** The environment of an engine process. */
export function engineEnvironment(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const kept: Record<string, string> = { ...engineProcessSettings };
  for (const [name, value] of Object.entries(environment))
    if (value !== undefined && names.has(name)) kept[name] = value;
  // Engines do not get the password of a mail server, because emails go through Postgres.
  if (!/^\s*https?:/i.test(kept['AUTH_MAIL_URL'] ?? 'http:')) delete kept['AUTH_MAIL_URL'];
  return kept;
}
