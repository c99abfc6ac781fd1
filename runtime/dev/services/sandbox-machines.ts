// Machines for the sandboxes of `platform dev`: containers, if a running container engine has their image, otherwise
// processes of this computer, which are not isolated. PLATFORM_DEV_SANDBOX overrides it. Opened by sandbox-service.ts.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { createOwnAddresses } from '#core/egress.ts';
import { PlatformError } from '#core/errors.ts';
import type { SandboxLimits } from '#core/limits.ts';
import { guardedLookup } from '#core/outbound/host-names.ts';
import type { SandboxBackend } from '#sandbox/backends/backend.ts';
import { createLocalBackend } from '#sandbox/backends/local/local.ts';
import { containerMachines, DEFAULT_IMAGE } from '#sandbox/service/configuration.ts';
import type { SandboxChoice } from './sandbox-choice.ts';

// `node:http` is not imported, because an import reads all exports, including the getters that load Node's own HTTP
// client.
const { request } = process.getBuiltinModule('node:http');

type Environment = Readonly<Record<string, string | undefined>>;

/** Dependencies. */
interface DevMachinesDeps {
  /** Folder of this project. */
  readonly folder: string;
  readonly choice: SandboxChoice | null;
  readonly limits: SandboxLimits;
  readonly environment: Environment;
  /** URL of the AI gateway of sandboxes on this computer, or null. */
  readonly aiUrl: string | null;
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
}

/** A container engine that does not respond within this time is considered missing. */
const PING_MS = 1000;
const INSTALLATION_CHARS = 11;
const DOCKERFILE = path.join(import.meta.dirname, '../../../containers/Dockerfile.sandbox');

/** @throws {PlatformError} `sandbox_unavailable` with the reason, if containers are required and not available. */
export async function openDevMachines(deps: DevMachinesDeps): Promise<SandboxBackend> {
  const { choice, folder, environment, aiUrl, log } = deps;
  let why = 'PLATFORM_DEV_SANDBOX=local says so';
  if (choice !== 'local') {
    try {
      return await openContainers(deps);
    } catch (error) {
      why = (error as Error).message;
      if (choice === 'container') throw new PlatformError('sandbox_unavailable', { reason: why }, { cause: error });
    }
  }
  return createLocalBackend({
    folder: path.join(folder, 'machines'),
    environment,
    aiUrl,
    why,
    warn: (message) => log('warn', message),
  });
}

/** @throws {Error} with instructions. */
async function openContainers({ folder, limits, environment, aiUrl, log }: DevMachinesDeps): Promise<SandboxBackend> {
  const socketPath = await findEngine(environment);
  const { image, images, hosts, reachesPrivate } = containerMachines({
    ...environment,
    DOCKER_HOST: `unix://${socketPath}`,
    FS_PATH: folder,
  });
  const policy = { loopback: false, private: reachesPrivate, isOwn: createOwnAddresses() };
  const { openContainerBackend } = await import('#sandbox/backends/container/backend.ts');
  const backend = await openContainerBackend({
    ...limits,
    installation: `d${createHash('sha256').update(folder).digest('hex').slice(0, INSTALLATION_CHARS)}`,
    // The volume with Node, which all projects share.
    programOwner: 'dev',
    socketPath,
    image,
    images,
    // Files are in volumes of the container engine, because separate disks require root.
    diskFolder: '',
    diskMb: 0,
    aiUrl,
    egress: { policy, lookup: guardedLookup(policy), hosts },
    report: (message) => log('warn', message),
  });
  const stopAll = async (): Promise<void> => {
    const stopping = (await backend.keys()).map((key) => backend.stop(key));
    for (const { status, reason } of (await Promise.allSettled(stopping)) as PromiseRejectedResult[])
      if (status === 'rejected') log('warn', `a sandbox was not stopped: ${(reason as Error).message}`);
  };
  // Removes containers that a killed dev has left running.
  await stopAll();
  log('info', `sandboxes run as containers of the engine at ${socketPath}`);
  return {
    ...backend,
    // Containers end together with dev; their files are kept.
    async close() {
      await stopAll().catch((error: unknown) => log('warn', `sandboxes were not stopped: ${(error as Error).message}`));
      await backend.close();
    },
  };
}

/** The socket of the first container engine that has the image. @throws {Error} with instructions if there is none. */
async function findEngine(environment: Environment): Promise<string> {
  const named = environment['DOCKER_HOST']?.trim() ?? '';
  if (named !== '' && !named.startsWith('unix:///'))
    throw new Error('DOCKER_HOST is not a Unix socket, and dev supports no other engine address');
  const image = environment['SANDBOX_DEFAULT_IMAGE']?.trim() || DEFAULT_IMAGE;
  const sockets = named === '' ? defaultSockets(environment) : [named.slice('unix://'.length)];
  const found = await Promise.all(
    sockets.map(async (socketPath) => {
      if (!existsSync(socketPath) || (await statusOf(socketPath, '/_ping')) !== 200) return null;
      const hasImage = (await statusOf(socketPath, `/v1.40/images/${encodeURIComponent(image)}/json`)) === 200;
      return { socketPath, hasImage };
    }),
  );
  const answering = found.filter((each) => each !== null);
  const usable = answering.find(({ hasImage }) => hasImage);
  if (usable !== undefined) return usable.socketPath;
  const [first] = answering;
  if (first === undefined)
    throw new Error(
      `No container engine answers at ${named === '' ? 'the usual sockets of Docker and podman' : named}: start one for sandboxes that are fenced`,
    );
  const program = first.socketPath.includes('podman') ? 'podman' : 'docker';
  throw new Error(
    `The container engine at ${first.socketPath} has no image ${image}. Make it, for sandboxes that are fenced: ${program} build -f ${DOCKERFILE} -t ${image} ${path.dirname(DOCKERFILE)}`,
  );
}

/** The sockets of Docker, of the system and of users, and of Podman. */
function defaultSockets(environment: Environment): string[] {
  const ofUser = environment['XDG_RUNTIME_DIR'] ?? `/run/user/${process.getuid?.() ?? 0}`;
  const home = environment['HOME'] ?? homedir();
  return [
    '/var/run/docker.sock',
    `${ofUser}/docker.sock`,
    `${home}/.docker/run/docker.sock`,
    `${home}/.docker/desktop/docker.sock`,
    `${ofUser}/podman/podman.sock`,
    '/run/podman/podman.sock',
  ];
}

/** The response; null if there was none in time. */
function statusOf(socketPath: string, asked: string): Promise<number | null> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(PING_MS);
    const asking = request({ socketPath, path: asked, signal, agent: false }, (answer) => {
      answer.on('error', () => {});
      resolve(answer.statusCode ?? null);
      answer.destroy();
    });
    asking.on('error', () => resolve(null));
    asking.end();
  });
}
