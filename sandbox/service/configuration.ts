// The variables of the sandbox service, read once when it starts. Missing, invalid or unsafe values are refused by
// name, with the fix. Pure.
import { isIP } from 'node:net';
import { isPrivateAddress } from '#core/private-address.ts';
import { limitsFrom, type SandboxLimits } from '#core/limits.ts';
import { HOST_NAME, IMAGE_NAME, isMachineSize, MACHINE_SIZES, type MachineSize } from '#core/sandbox/options.ts';
import { parseInteger } from '#core/parse-integer.ts';
import type { BuildSettings } from '../backends/container/container-spec.ts';
import { hostedSettings, type HostedSettings } from '../backends/hosted/settings.ts';

/** Settings of the service. */
export interface SandboxConfig {
  readonly limits: SandboxLimits;
  readonly host: string;
  readonly port: number;
  /** URL of this replica for other replicas, such as `http://10.0.0.5:4006` (`SANDBOX_ADDRESS`). */
  readonly address: string;
  /** `SANDBOX_AUTH_TOKEN`. */
  readonly token: string;
  /** `SANDBOX_DATABASE_URL`: connects as the role with access to the table of sandboxes. */
  readonly databaseUrl: string;
  /** `SANDBOX_RETENTION_DAYS`; 0: never. */
  readonly destroyMs: number;
  readonly machines: ContainerMachines | { readonly provider: 'hosted'; readonly settings: HostedSettings };
  /** `SANDBOX_MACHINE_MAX`: the largest size that may be requested. */
  readonly machineMax: MachineSize;
  /** `SANDBOX_LOG_EXEC`: whether the output of commands is logged. */
  readonly logsExec: boolean;
  /** Warnings for operators. */
  readonly warnings: readonly string[];
}

/** Settings for machines of a local container engine. */
interface ContainerMachines {
  readonly provider: 'container';
  /** The socket of `DOCKER_HOST`. */
  readonly socketPath: string;
  /** `SANDBOX_DEFAULT_IMAGE`. */
  readonly image: string;
  /** Settings for build sandboxes. */
  readonly builds: BuildSettings;
  /** `SANDBOX_IMAGES`: other images that sandboxes may request. */
  readonly images: readonly string[];
  /** Folder of the disks. */
  readonly folder: string;
  /** `SANDBOX_EGRESS_HOSTS`; null means all public hosts. */
  readonly hosts: readonly string[] | null;
  /** `SANDBOX_AI_URL`; null means no AI gateway. */
  readonly aiUrl: string | null;
  /** Whether private addresses are allowed (`WORKER_EGRESS_ALLOW`). */
  readonly reachesPrivate: boolean;
}

const DEFAULT_PORT = 4006;
/** Default image of sandboxes. */
export const DEFAULT_IMAGE = 'platform-sandbox:latest';
const DEFAULT_SOCKET = 'unix:///var/run/docker.sock';
const TOKEN_CHARS_MIN = 32;
const RETENTION_DAYS = 30;
const RETENTION_DAYS_MAX = 36_500;
const DAY_MS = 86_400_000;

const LOCAL = /^(?:127\.|169\.254\.|::1$|fe[89ab])/i;

/** Whether an address is on this machine or in a private network. */
export function isInside(address: string): boolean {
  return isPrivateAddress(address.replace(/^::ffff:/i, '').replace(/%.*/, ''));
}

/**
 * @param addresses the addresses of this machine. @throws {Error} that names the variable, its value and the accepted
 * values; never the value of a secret.
 */
export function sandboxConfig(
  environment: Readonly<Record<string, string | undefined>>,
  addresses: readonly string[] = [],
): SandboxConfig {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const provider = get('SANDBOX_PROVIDER') || 'container';
  if (provider !== 'container' && provider !== 'hosted')
    throw new Error(`SANDBOX_PROVIDER is "${provider}": it must be container or hosted`);
  const token = get('SANDBOX_AUTH_TOKEN');
  if (token.length < TOKEN_CHARS_MIN || !/^[\x21-\x7e]+$/.test(token))
    throw new Error(
      `SANDBOX_AUTH_TOKEN must have at least ${TOKEN_CHARS_MIN} visible ASCII characters (openssl rand -hex 32), the same for handlers`,
    );
  const hostVariable = get('SANDBOX_HOST') === '' ? 'HOST' : 'SANDBOX_HOST';
  const host = get(hostVariable) || '127.0.0.1';
  // If the service listens on all interfaces, only clients with private addresses are accepted.
  const isEverywhere = host === '0.0.0.0' || host === '::';
  if (!isEverywhere && !isInside(host))
    throw new Error(
      `${hostVariable} is ${host}, which others may reach: the sandbox service listens on loopback and private addresses alone`,
    );
  const databaseUrl = get('SANDBOX_DATABASE_URL');
  if (databaseUrl === '')
    throw new Error('SANDBOX_DATABASE_URL is not set: set it to the URL of Postgres for the role platform_sandbox');
  const port = parseInteger('SANDBOX_PORT', get('SANDBOX_PORT') || String(DEFAULT_PORT), { most: 65_535 });
  const logged = get('SANDBOX_LOG_EXEC') || '0';
  if (logged !== '0' && logged !== '1')
    throw new Error(`SANDBOX_LOG_EXEC is "${logged}": it must be 1, which logs the output of commands, or 0`);
  const logsExec = logged === '1';
  const days = parseInteger('SANDBOX_RETENTION_DAYS', get('SANDBOX_RETENTION_DAYS') || String(RETENTION_DAYS), {
    most: RETENTION_DAYS_MAX,
  });
  const machineMax = get('SANDBOX_MACHINE_MAX') || MACHINE_SIZES.at(-1);
  if (!isMachineSize(machineMax))
    throw new Error(`SANDBOX_MACHINE_MAX is "${machineMax}": it must be one of ${MACHINE_SIZES.join(', ')}`);
  return {
    limits: limitsFrom(environment).sandbox,
    host,
    port,
    address: addressFrom(get('SANDBOX_ADDRESS')) ?? originOf(isEverywhere ? reachedAt(addresses) : host, port),
    token,
    databaseUrl,
    destroyMs: days * DAY_MS,
    machines:
      provider === 'hosted' ? { provider, settings: hostedSettings(environment) } : containerMachines(environment),
    machineMax,
    logsExec,
    warnings: logsExec ? ['SANDBOX_LOG_EXEC=1: the output of commands is logged, which may contain customer data'] : [],
  };
}

/** Null: not set. Only IP addresses are accepted, since the token is sent there and a name may resolve to any host. */
function addressFrom(given: string): string | null {
  if (given === '') return null;
  const url = URL.parse(given);
  if (url?.protocol !== 'http:' || url.href !== `${url.origin}/` || !isInside(url.hostname.replace(/^\[|\]$/g, '')))
    throw new Error(
      'SANDBOX_ADDRESS must be the URL at which other replicas reach this replica, with http, a loopback or private IP address, and a port, such as http://10.0.0.5:4006',
    );
  return url.origin;
}

const originOf = (host: string, port: number): string => `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;

/** Null: not set. The service connects for its containers, so the URL may be internal. */
function aiUrlFrom(given: string): string | null {
  if (given === '') return null;
  const url = URL.parse(given);
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    [url.username, url.password, url.search, url.hash].some((part) => part !== '')
  )
    throw new Error(
      'SANDBOX_AI_URL must be the address of the API with /ai, such as http://api:4002/ai, without a user, a query or a fragment',
    );
  return url.href.replace(/\/+$/, '');
}

/** An address of this machine that others in its network can use: not loopback or link-local. */
function reachedAt(addresses: readonly string[]): string {
  return addresses.find((address) => isInside(address) && !LOCAL.test(address)) ?? '127.0.0.1';
}

/** @throws {Error} as {@link sandboxConfig}. */
export function containerMachines(environment: Readonly<Record<string, string | undefined>>): ContainerMachines {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const isolation = get('SANDBOX_NETWORK_ISOLATION') || 'true';
  if (isolation !== 'true')
    throw new Error(
      `SANDBOX_NETWORK_ISOLATION is "${isolation}": sandboxes never have a network of their own. Remove this variable, or set it to true`,
    );
  const engine = get('DOCKER_HOST') || DEFAULT_SOCKET;
  if (!/^unix:\/\/\/./.test(engine))
    throw new Error(
      `DOCKER_HOST must be the Unix socket of a container engine of this machine, such as ${DEFAULT_SOCKET}`,
    );
  const folder = get('FS_PATH');
  if (folder === '') throw new Error('FS_PATH is not set: disks of sandboxes lie in its folder sandboxes');
  const list = (text: string): string[] | null => (text === '' ? null : text.split(',').map((name) => name.trim()));
  const names = list(get('SANDBOX_EGRESS_HOSTS').toLowerCase());
  const wrong = names?.find((name) => !HOST_NAME.test(name));
  if (wrong !== undefined)
    throw new Error(`SANDBOX_EGRESS_HOSTS has "${wrong}": it must be names and *.names, comma-separated`);
  const images = list(get('SANDBOX_IMAGES')) ?? [];
  const none = images.find((name) => !IMAGE_NAME.test(name));
  if (none !== undefined) throw new Error(`SANDBOX_IMAGES has "${none}": it must be image names, comma-separated`);
  return {
    provider: 'container',
    socketPath: engine.slice('unix://'.length),
    image: get('SANDBOX_DEFAULT_IMAGE') || DEFAULT_IMAGE,
    builds: buildSettings(environment),
    images,
    folder: `${folder}/sandboxes`,
    hosts: names,
    aiUrl: aiUrlFrom(get('SANDBOX_AI_URL')),
    reachesPrivate: get('WORKER_EGRESS_ALLOW')
      .split(',')
      .some((word) => word.trim() === 'private'),
  };
}

function buildSettings(environment: Readonly<Record<string, string | undefined>>): BuildSettings {
  const image = environment['BUILD_SANDBOX_IMAGE']?.trim() || null;
  if (image !== null && !IMAGE_NAME.test(image))
    throw new Error(`BUILD_SANDBOX_IMAGE is "${image}": it must be the name of an image`);
  const { sandbox, build } = limitsFrom(environment);
  return {
    image,
    memoryMb: sandbox.buildMemoryMb,
    processorsMax: build.processorsMax,
    tasksMax: build.processesMax,
  };
}
