// The engine's environment, read and validated once by main.ts.
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import type { EgressPolicy } from '#core/egress.ts';
import { Failure } from '#core/failure.ts';
import { isHttpsOn } from '#core/public-https.ts';
import { limitsFrom, type Limits } from '#core/limits.ts';
import { migrationsExecutorFrom, type MigrationsExecutor } from '#core/migrations-executor.ts';
import { parsePort } from '#core/parse-integer.ts';
import { proxyProblem } from '../http/client-address.ts';

/**
 * V8 13.6 has one table for the code of all functions in a process, and gives an isolate one of its 4,096 segments, or
 * one for each 4,096 functions. When no segment is left, the process crashes (at about 4,060 minimal workers). A
 * quarter of the segments is reserved for workers with many functions.
 */
const ISOLATES_MAX = 3072;

/** Settings of an engine. */
export interface EngineConfig {
  /** `FS_PATH`: artifacts and routes. */
  readonly folder: string;
  /** `HANDLER_DOMAIN`, comma-separated: projects are served on `<project>.<domain>`. */
  readonly domains: readonly string[];
  /** `HANDLER_HOST`: address to listen on. */
  readonly host: string;
  readonly port: number;
  readonly listener: 'auto' | 'node' | 'uws';
  readonly protocol: 'http' | 'https';
  /** `PUBLIC_PORT`: port in public URLs, 443 with https; null means the port of the request. */
  readonly publicPort: number | null;
  readonly limits: Limits;
  readonly egress: EgressPolicy;
  /** `WORKER_DNS_SERVERS`: name servers for workers' requests. By default, these are the system's name servers. */
  readonly nameServers: readonly string[];
  /** `TRUSTED_PROXIES`: addresses and CIDR ranges of proxies whose headers with client addresses are trusted. */
  readonly trustedProxies: readonly string[];
  /** `DB_MIGRATIONS_EXECUTOR`: which process applies the migrations of deployments. */
  readonly migrationsExecutor: MigrationsExecutor;
  /** `TRACE_SAMPLE_RATE`: share of invocations that are sampled, 0 to 1. */
  readonly traceSampleRate: number;
  /** `EDGE_TOKEN`: identifies requests that came through the edge; '' if it is not set. */
  readonly edgeToken: string;
  /**
   * The AI gateway: `ENGINE_AI_SOCKET`, or `ENGINE_AI_ORIGIN` of an API elsewhere, and `ENGINE_AI_URL`, which workers
   * get as PLATFORM_AI_URL. Null if there is no AI gateway.
   */
  readonly ai: { readonly socket: string; readonly origin: string; readonly url: string | null } | null;
  /** `ENGINE_SANDBOX_URL` and `ENGINE_SANDBOX_TOKEN`: the sandbox service, or null. */
  readonly sandboxes: { readonly origin: string; readonly token: string } | null;
  /** `ENGINE_SSR_SOCKET`: socket of the process that runs servers of ssr projects; '' if no such servers run here. */
  readonly ssrSocket: string;
  /**
   * `ENGINE_SSR_CALLS`: prefix of the path of the socket on which servers call bindings; '' means the prefix of the
   * engine's own socket.
   */
  readonly ssrCalls: string;
  /** Settings from the supervisor; null for a standalone engine. */
  readonly supervision: Supervision | null;
}

/** An engine's settings under its supervisor. */
export interface Supervision {
  /** `ENGINE_ID`. */
  readonly id: number;
  /** `ENGINE_SOCKETS`: base of the names of the engine's Unix sockets. */
  readonly sockets: string;
  /** `ENGINE_CRASH_FD`: descriptor on which a crashing engine names the code that was running. */
  readonly crashFd: number;
}

/**
 * Reads the variables of docs/handler.md and docs/limits.md that concern an engine. @throws {Failure} `configuration`
 */
export function engineConfig(environment: Readonly<Record<string, string | undefined>>): EngineConfig {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const folder = get('FS_PATH');
  if (folder === '')
    throw new Failure('configuration', 'FS_PATH is not set: set it to the folder of artifacts and routes');
  const protocol = choice(
    'PUBLIC_PROTOCOL',
    get('PUBLIC_PROTOCOL'),
    ['http', 'https'],
    environment['NODE_ENV'] === 'production' || checked(() => isHttpsOn(get('PUBLIC_HTTPS'))) ? 'https' : 'http',
  );
  const port = get('HANDLER_PORT') === '' ? 4001 : checked(() => parsePort('HANDLER_PORT', get('HANDLER_PORT')));
  const usualPort = protocol === 'https' ? 443 : null;
  const publicPort =
    get('PUBLIC_PORT') === '' ? usualPort : checked(() => parsePort('PUBLIC_PORT', get('PUBLIC_PORT'), 1));
  const domains = (get('HANDLER_DOMAIN') || 'localhost').split(',').map((domain) => domain.trim().toLowerCase());
  for (const domain of domains) {
    if (!/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/.test(domain))
      throw new Failure('configuration', `HANDLER_DOMAIN must be host names, comma-separated, but has "${domain}"`);
  }
  const allowed = get('WORKER_EGRESS_ALLOW') === '' ? [] : get('WORKER_EGRESS_ALLOW').split(',');
  for (const entry of allowed) choice('WORKER_EGRESS_ALLOW', entry.trim(), ['loopback', 'private'], '');
  const nameServers = list(get('WORKER_DNS_SERVERS'));
  for (const server of nameServers) {
    if (!isNameServer(server))
      throw new Failure(
        'configuration',
        `WORKER_DNS_SERVERS must be IP addresses, comma-separated, each with a port if it is not 53 (192.0.2.1:5353, [2001:db8::1]:5353), but has "${server}"`,
      );
  }
  const trustedProxies = list(get('TRUSTED_PROXIES'));
  for (const entry of trustedProxies) {
    const problem = proxyProblem(entry);
    if (problem !== null)
      throw new Failure(
        'configuration',
        `TRUSTED_PROXIES must be addresses and CIDR ranges, comma-separated: ${problem}`,
      );
  }
  const limits = checked(() => limitsFrom(environment));
  if (limits.isolatesMax > ISOLATES_MAX)
    throw new Failure(
      'configuration',
      `WORKER_ISOLATES_MAX is ${limits.isolatesMax}, but V8 has room for ${ISOLATES_MAX} isolates in a process: set it lower, and HANDLER_PROCESSES higher`,
    );
  return {
    folder: resolve(folder),
    domains,
    host: get('HANDLER_HOST') || '127.0.0.1',
    port,
    listener: choice('HANDLER_LISTENER', get('HANDLER_LISTENER'), ['auto', 'node', 'uws'], 'auto'),
    protocol,
    publicPort,
    limits,
    egress: { loopback: allowed.includes('loopback'), private: allowed.includes('private') },
    nameServers,
    trustedProxies,
    migrationsExecutor: checked(() => migrationsExecutorFrom(environment)),
    traceSampleRate: rate('TRACE_SAMPLE_RATE', get('TRACE_SAMPLE_RATE')),
    edgeToken: get('EDGE_TOKEN'),
    sandboxes:
      get('ENGINE_SANDBOX_URL') === ''
        ? null
        : { origin: get('ENGINE_SANDBOX_URL'), token: get('ENGINE_SANDBOX_TOKEN') },
    ssrSocket: get('ENGINE_SSR_SOCKET'),
    ssrCalls: get('ENGINE_SSR_CALLS'),
    ai:
      get('ENGINE_AI_SOCKET') === '' && get('ENGINE_AI_ORIGIN') === ''
        ? null
        : {
            socket: get('ENGINE_AI_SOCKET'),
            origin: get('ENGINE_AI_ORIGIN'),
            url: get('ENGINE_AI_URL') || null,
          },
    supervision:
      get('ENGINE_SOCKETS') === ''
        ? null
        : { id: Number(get('ENGINE_ID')), sockets: get('ENGINE_SOCKETS'), crashFd: Number(get('ENGINE_CRASH_FD')) },
  };
}

/** @throws {Failure} `configuration` with the message of the error that `read` throws. */
function checked<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw new Failure('configuration', (error as Error).message);
  }
}

function rate(name: string, value: string): number {
  if (value === '') return 1;
  const share = Number(value);
  if (!/^\d(?:\.\d{1,9})?$/.test(value) || share > 1)
    throw new Failure('configuration', `${name} must be a number from 0 to 1, such as 0.1, but is "${value}"`);
  return share;
}

function list(value: string): string[] {
  return value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

function isNameServer(text: string): boolean {
  const [, address = text, port = '53'] =
    /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text)?.filter((part) => part !== undefined) ?? [];
  return isIP(address) !== 0 && Number(port) > 0 && Number(port) < 65_536;
}

function choice<const Value extends string>(
  name: string,
  value: string,
  values: readonly Value[],
  otherwise: Value | '',
): Value {
  if (value === '' && otherwise !== '') return otherwise;
  if ((values as readonly string[]).includes(value)) return value as Value;
  throw new Failure('configuration', `${name} must be one of ${values.join(', ')}, but is "${value}"`);
}
