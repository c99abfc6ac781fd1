// Sandboxes as containers of a local engine (Docker, podman): each has a read-only system, its own disk at /workspace,
// limits on CPU, memory and processes, and no network. All outgoing connections pass through the service
// (docs/decisions/90-sandboxes-have-no-network.md).
import type { Duplex } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import { isFailure } from '#core/failure.ts';
import { limitedLookup } from '#core/outbound/host-names.ts';
import { machineSizes, type EgressChoice, type SandboxOptions } from '#core/sandbox/options.ts';
import type { MachineSpec, MachineState, SandboxBackend } from '../backend.ts';
import { createAiProxy } from './ai-proxy.ts';
import { openChannel, type Channel } from './channel.ts';
import { checkContainers } from './checks.ts';
import {
  containerName,
  containerSpec,
  egressOf,
  labelsOf,
  mayHaveAi,
  ownerSpec,
  settingsFor,
  SANDBOX_USER,
  type ContainerSettings,
} from './container-spec.ts';
import { openDisks, type Disks } from './disks.ts';
import type { NarrowedEgress, SandboxEgress } from './egress.ts';
import { openEngineApi } from './engine-api.ts';
import { openImages } from './images.ts';
import { AI_URL } from './inside/ai-listener.ts';
import { openProgram } from './program.ts';

/** Options of the backend. */
export interface ContainerBackendDeps extends ContainerSettings {
  /** Socket of the engine. */
  readonly socketPath: string;
  /** Images that sandboxes may request, besides `image`. */
  readonly images: readonly string[];
  /** Installation whose volume holds the agent program; by default this one. */
  readonly programOwner?: string;
  /** Folder and size of sandbox disks; size 0: volumes of the engine, without a limit. */
  readonly diskFolder: string;
  readonly diskMb: number;
  readonly egress: SandboxEgress;
  /** `SANDBOX_AI_URL`; null means no AI gateway. */
  readonly aiUrl: string | null;
  /** Timeout for the agent in a sandbox. */
  readonly answerMs: number;
  /** Logs engine errors for operators. */
  report(message: string): void;
}

/** Maximum concurrent DNS lookups of one sandbox. */
const LOOKUPS_MAX = 256;
const REMOVALS_MAX = 3;
const PAUSES_MAX = 3;

interface Inspected {
  readonly Config: { readonly Labels: Readonly<Record<string, string>> | null };
  readonly State: { readonly Running: boolean; readonly Paused: boolean };
}

/** @throws {Error} with the fix when the engine cannot be used. */
export async function openContainerBackend(deps: ContainerBackendDeps): Promise<SandboxBackend> {
  const { egress, aiUrl, answerMs, report } = deps;
  const api = openEngineApi(deps.socketPath);
  const labels = labelsOf(deps);
  const nameOf = (key: string): string => containerName(deps, key);
  const room = await checkEngine();
  const settings: ContainerSettings = {
    ...deps,
    // Engines refuse more CPUs than the machine has.
    ...(deps.builds !== undefined && {
      builds: { ...deps.builds, processorsMax: Math.min(deps.builds.processorsMax, room.processors) },
    }),
  };
  const images = openImages({ api, waitMs: answerMs, report });
  const disks: Disks | null = deps.diskMb === 0 ? null : await openDisks(deps.diskFolder, deps.diskMb, SANDBOX_USER);
  const program = await openProgram(api, {
    image: deps.image,
    installation: deps.programOwner ?? deps.installation,
    user: SANDBOX_USER,
  });
  const channels = new Map<string, Promise<Channel>>();

  /** @returns the resources of this machine. */
  async function checkEngine(): Promise<{ readonly processors: number; readonly memoryMb: number }> {
    const { OSType, Architecture, NCPU, MemTotal } = await api.call<{
      OSType: string;
      Architecture: string;
      NCPU: number;
      MemTotal: number;
    }>('GET', '/info');
    const architecture = { x64: /^(?:x86_64|amd64)$/, arm64: /^(?:aarch64|arm64)$/ }[process.arch as 'x64' | 'arm64'];
    if (OSType !== process.platform || architecture?.test(Architecture) !== true)
      throw new Error(
        `The container engine runs ${OSType} on ${Architecture}, and this Node is for ${process.platform} on ${process.arch}: sandboxes run the same one. Run the sandbox service in a container (compose.split.yaml)`,
      );
    await api.call('GET', `/images/${encodeURIComponent(deps.image)}/json`).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
      throw new Error(
        `The container engine has no image ${deps.image}: build it with \`platform sandbox image -t ${deps.image}\`, or name another one in SANDBOX_DEFAULT_IMAGE`,
      );
    });
    return { processors: NCPU, memoryMb: MemTotal / 2 ** 20 };
  }

  function check({ machine, image }: SandboxOptions): void {
    const refuse = (reason: string): never => {
      throw new PlatformError('sandbox_option_refused', { reason });
    };
    if (image !== null && image !== deps.image && !deps.images.includes(image))
      refuse(`image ${image} is not among those that the operator allows (SANDBOX_IMAGES)`);
    if (machine === null) return;
    const { processors, memoryMb } = machineSizes[machine];
    if (processors > room.processors || memoryMb > room.memoryMb)
      refuse(
        `machine "${machine}" has ${processors} processors and ${memoryMb} MB, and where sandboxes run there are ${room.processors} and ${Math.floor(room.memoryMb)} MB`,
      );
  }

  /** Engine errors are only shown to operators, since they contain paths of the machine. */
  async function doing<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof PlatformError) throw error;
      report(`${what}: ${(error as Error).message}`);
      const reason =
        isFailure(error, 'container_engine') && error.status === 0
          ? 'the container engine does not answer'
          : `${what} failed`;
      throw new PlatformError('sandbox_unavailable', { reason }, { cause: error });
    }
  }

  function checkCopy(): void {
    if (disks === null)
      throw new PlatformError('sandbox_copy_refused', {
        reason: 'sandboxes have no disks of their own here (SANDBOX_DISK_MB=0)',
      });
  }

  async function inspect(key: string): Promise<(Inspected['State'] & Pick<Inspected['Config'], 'Labels'>) | null> {
    try {
      const { State, Config } = await api.call<Inspected>('GET', `/containers/${nameOf(key)}/json`);
      return { ...State, Labels: Config.Labels };
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  async function hasFiles(key: string): Promise<boolean> {
    if (disks !== null) return disks.has(key);
    return (await present(api.call('GET', `/volumes/${nameOf(key)}`))) !== null;
  }

  async function stateOf(key: string): Promise<MachineState> {
    const state = await inspect(key);
    if (state?.Running === true) return state.Paused ? 'suspended' : 'running';
    return (await hasFiles(key)) ? 'stopped' : 'absent';
  }

  /** Creates a container with the existing disk, or a new one. */
  async function start(machine: MachineSpec): Promise<void> {
    const { key, options } = machine;
    check(options);
    const { image } = settingsFor(settings, machine);
    if (image !== deps.image) await images.have(image);
    const name = nameOf(key);
    let device: string | null = null;
    if (disks !== null) {
      device = await disks.attach(key);
      // Recreates the volume, because the disk's device may have changed.
      await present(api.call('DELETE', `/volumes/${name}`));
      await api.call('POST', '/volumes/create', {
        Name: name,
        Labels: labels,
        Driver: 'local',
        DriverOpts: { type: 'ext4', device, o: 'nosuid,nodev' },
      });
    } else if (!(await hasFiles(key))) await makeVolume(name);
    const spec = containerSpec(settings, machine, { workspace: name, program });
    await api.call('POST', `/containers/create?name=${name}`, spec);
    const opening = openChannel({
      api,
      container: name,
      egress: egressFor(options.egress),
      ai: options.ai === false ? null : aiDoor(),
      answerMs,
      async afterAttach() {
        await api.call('POST', `/containers/${name}/start`);
        if (device !== null) await disks!.release(device);
      },
    });
    keep(key, opening);
    await opening;
  }

  /** Volumes belong to root: a container with only the right to chown gives it to the user of commands. */
  async function makeVolume(name: string): Promise<void> {
    await api.call('POST', '/volumes/create', { Name: name, Labels: labels });
    const { Id } = await api.call<{ Id: string }>(
      'POST',
      '/containers/create',
      ownerSpec(deps, { workspace: name, program }),
    );
    try {
      await api.call('POST', `/containers/${Id}/start`);
      const { StatusCode } = await api.call<{ StatusCode: number }>('POST', `/containers/${Id}/wait`);
      if (StatusCode !== 0) throw new Error(`the container that owns ${name} ended with ${StatusCode}`);
    } catch (error) {
      await present(api.call('DELETE', `/volumes/${name}`)).catch(() => {});
      throw error;
    } finally {
      await present(api.call('DELETE', `/containers/${Id}?force=true`));
    }
  }

  const egressFor = (choice: EgressChoice | null): NarrowedEgress => ({
    ...egress,
    choice,
    lookup: limitedLookup(egress.lookup, LOOKUPS_MAX),
  });

  /** Each container has its own proxy, which counts the sandbox's concurrent requests. */
  const aiDoor = (): ReturnType<typeof createAiProxy> | null => (aiUrl === null ? null : createAiProxy(aiUrl));

  function keep(key: string, opening: Promise<Channel>): void {
    channels.set(key, opening);
    const forget = (): void => {
      if (channels.get(key) === opening) channels.delete(key);
    };
    opening.then((channel) => channel.lost.then(forget), forget);
  }

  function drop(key: string): void {
    const opening = channels.get(key);
    channels.delete(key);
    void opening?.then(
      (channel) => channel.close(),
      () => {},
    );
  }

  /** Kills its processes. */
  async function removeContainer(key: string): Promise<void> {
    const name = nameOf(key);
    for (let attempt = 1; ; attempt++) {
      // Some engines do not kill paused containers.
      if ((await inspect(key))?.Paused === true) await present(api.call('POST', `/containers/${name}/unpause`));
      try {
        await present(api.call('DELETE', `/containers/${name}?force=true`));
        break;
      } catch (error) {
        // The process may have exited between the engine's check and its signal.
        if (attempt === REMOVALS_MAX || !isFailure(error, 'container_engine') || error.status === 0) throw error;
      }
    }
    drop(key);
  }

  async function remove(key: string): Promise<void> {
    await removeContainer(key);
    await present(api.call('DELETE', `/volumes/${nameOf(key)}`));
    await disks?.remove(key);
  }

  return {
    provider: 'container',
    aiUrl: aiUrl === null ? null : AI_URL,
    check,
    checkCopy,
    copy: (from, to) =>
      doing('copying the sandbox', async () => {
        checkCopy();
        if (!(await hasFiles(from))) throw new PlatformError('sandbox_lost', { reason: 'its files are gone' });
        return disks!.copy(from, to);
      }),
    create: (spec) =>
      doing('making the sandbox', async () => {
        if ((await stateOf(spec.key)) !== 'absent' || (await inspect(spec.key)) !== null) await remove(spec.key);
        try {
          await start(spec);
        } catch (error) {
          await remove(spec.key).catch(() => {});
          throw error;
        }
      }),
    resume: (spec) =>
      doing('waking the sandbox', async () => {
        const state = await stateOf(spec.key);
        if (state === 'absent') throw new PlatformError('sandbox_lost', { reason: 'its files are gone' });
        if (state === 'suspended') await api.call('POST', `/containers/${nameOf(spec.key)}/unpause`);
        if (state !== 'stopped') return;
        await removeContainer(spec.key);
        try {
          await start(spec);
        } catch (error) {
          await removeContainer(spec.key).catch(() => {});
          throw error;
        }
      }),
    suspend: (key) =>
      doing('suspending the sandbox', async () => {
        for (let attempt = 1; attempt <= PAUSES_MAX && (await stateOf(key)) === 'running'; attempt++) {
          try {
            await api.call('POST', `/containers/${nameOf(key)}/pause`);
          } catch (error) {
            // On a busy machine the kernel may fail with "unable to freeze".
            if (attempt === PAUSES_MAX || !isFailure(error, 'container_engine') || error.status === 0) throw error;
          }
        }
      }),
    stop: (key) =>
      doing('stopping the sandbox', async () => {
        await removeContainer(key);
        // Keeps the sandbox's disk. Without separate disks, the engine's volume is the disk.
        if (disks !== null) await present(api.call('DELETE', `/volumes/${nameOf(key)}`));
      }),
    destroy: (key) => doing('destroying the sandbox', () => remove(key)),
    state: (key) => doing('looking at the sandbox', () => stateOf(key)),
    keys: () =>
      doing('looking for sandboxes', async () => {
        const filters = encodeURIComponent(
          JSON.stringify({ label: Object.entries(labels).map(([name, value]) => `${name}=${value}`) }),
        );
        const containers = await api.call<{ Labels: Record<string, string> }[]>(
          'GET',
          `/containers/json?all=1&filters=${filters}`,
        );
        const volumes = await api.call<{ Volumes: { Name: string }[] | null }>('GET', `/volumes?filters=${filters}`);
        const prefix = nameOf('');
        return [
          ...new Set([
            ...containers.flatMap(({ Labels }) => Labels['platform.sandbox.key'] ?? []),
            ...(volumes.Volumes ?? []).flatMap(({ Name }) =>
              Name.startsWith(prefix) ? [Name.slice(prefix.length)] : [],
            ),
            ...(disks?.keys() ?? []),
          ]),
        ];
      }),
    connect: (key): Promise<Duplex> =>
      doing('reaching the sandbox', async () => {
        if (!channels.has(key)) {
          const state = await inspect(key);
          if (state?.Running !== true) throw new PlatformError('sandbox_lost', { reason: 'it does not run' });
          const ai = mayHaveAi(state.Labels) ? aiDoor() : null;
          const own = egressFor(egressOf(state.Labels));
          if (!channels.has(key)) keep(key, openChannel({ api, container: nameOf(key), egress: own, ai, answerMs }));
        }
        return (await channels.get(key)!).connect();
      }),
    ...(disks !== null && { sizes: () => disks.sizes() }),
    checks: () => checkContainers({ api, image: deps.image, labels, diskMb: deps.diskMb }),
    async close() {
      for (const key of channels.keys()) drop(key);
      api.close();
      await disks?.close();
    },
  };
}

function isMissing(error: unknown): boolean {
  return isFailure(error, 'container_engine') && error.status === 404;
}

/** The response; null for 404. */
async function present<Answer>(asked: Promise<Answer>): Promise<Answer | null> {
  try {
    return await asked;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}
