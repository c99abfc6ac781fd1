// Health checks of the container engine: it answers, has the image, and gave no sandbox a network. Called by backend.ts
// for the service's status; read-only.
import { isFailure } from '#core/failure.ts';
import type { SandboxCheck } from '#core/sandbox/service-status.ts';
import { type EngineApi } from './engine-api.ts';

/** What to check. */
interface ContainerCheckDeps {
  readonly api: EngineApi;
  readonly image: string;
  /** Label of sandbox containers. */
  readonly labels: Readonly<Record<string, string>>;
  /** 0: disks are unlimited. */
  readonly diskMb: number;
}

/** Maximum containers inspected each time, newest first. */
const CONTAINERS_MAX = 20;

/** Findings, never a failure. */
export async function checkContainers({ api, image, labels, diskMb }: ContainerCheckDeps): Promise<SandboxCheck[]> {
  let version: string;
  try {
    const found = await api.call<{ Version?: unknown } | null>('GET', '/version');
    version = String(found?.Version).slice(0, 50);
  } catch (error) {
    const advice = 'Start the container engine, and check DOCKER_HOST and the permissions of its socket.';
    return [{ name: 'engine', status: 'fail', message: (error as Error).message, advice }];
  }
  return [
    { name: 'engine', status: 'ok', message: `The container engine ${version} answers`, advice: null },
    await checkImage(api, image),
    await checkNetworks(api, labels),
    diskMb === 0
      ? {
          name: 'disks',
          status: 'warn',
          message: 'SANDBOX_DISK_MB=0: sandboxes share the disk of the engine, without a limit',
          advice:
            'One sandbox can fill the disk for all sandboxes: set SANDBOX_DISK_MB if the machine has loop devices.',
        }
      : { name: 'disks', status: 'ok', message: `Each sandbox has a disk of ${diskMb} MB`, advice: null },
  ];
}

async function checkImage(api: EngineApi, image: string): Promise<SandboxCheck> {
  try {
    await api.call('GET', `/images/${encodeURIComponent(image)}/json`);
    return { name: 'image', status: 'ok', message: `The engine has the image ${image}`, advice: null };
  } catch (error) {
    const isMissing = isFailure(error, 'container_engine') && error.status === 404;
    return {
      name: 'image',
      status: 'fail',
      message: isMissing ? `The engine has no image ${image}` : (error as Error).message,
      advice: `Build it with \`platform sandbox image -t ${image}\`, or name another one in SANDBOX_DEFAULT_IMAGE.`,
    };
  }
}

/** Not every engine includes networks in its lists, so each container is inspected. */
async function checkNetworks(api: EngineApi, labels: Readonly<Record<string, string>>): Promise<SandboxCheck> {
  const label = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  const filters = encodeURIComponent(JSON.stringify({ label }));
  try {
    const found = await api.call<{ Id: string }[]>('GET', `/containers/json?all=1&filters=${filters}`);
    let looked = 0;
    let connected = 0;
    for (const { Id } of found.slice(0, CONTAINERS_MAX)) {
      const mode = await networkOf(api, Id);
      if (mode === null) continue;
      looked++;
      if (mode !== 'none') connected++;
    }
    return connected > 0
      ? {
          name: 'isolation',
          status: 'fail',
          message: `${connected} of ${looked} containers of sandboxes have a network of their own`,
          advice: 'The limits of these sandboxes were changed: destroy them, and check who can use the engine.',
        }
      : { name: 'isolation', status: 'ok', message: `None of ${looked} containers has a network`, advice: null };
  } catch (error) {
    const advice = 'Check the log of the engine.';
    return { name: 'isolation', status: 'warn', message: (error as Error).message, advice };
  }
}

/** Null if the container was deleted in the meantime. */
async function networkOf(api: EngineApi, container: string): Promise<string | null> {
  try {
    const { HostConfig } = await api.call<{ HostConfig: { NetworkMode: string } }>(
      'GET',
      `/containers/${container}/json`,
    );
    return HostConfig.NetworkMode;
  } catch (error) {
    if (isFailure(error, 'container_engine') && error.status === 404) return null;
    throw error;
  }
}
