// Builds the container engine's specification of a sandbox: limits, mounts, and no network. Pure.
import { PROXY_VARIABLES } from '#core/outbound/proxy.ts';
import { BUILD_RESOURCE, WORKSPACE } from '#core/sandbox/operations.ts';
import { machineSizes, type EgressChoice, type SandboxOptions } from '#core/sandbox/options.ts';
import type { MachineSpec } from '../backend.ts';
import { COMPILED_FOLDER, COMPILED_VARIABLE, PROGRAM_COMMAND, PROGRAM_FOLDER } from './program.ts';
import { SECRETS_FOLDER } from './inside/secrets-folder.ts';

/** User of commands and owner of the workspace's files. */
export const SANDBOX_USER = 1000;
const MB = 1024 * 1024;
const PREFIX = 'platform-sandbox-';
/** Size limit of files with secrets. */
const SECRETS_SIZE = '1m';

/** Defaults for all sandboxes of an installation. */
export interface ContainerSettings {
  /** Distinguishes this platform's sandboxes from those of other platforms on the same engine. */
  readonly installation: string;
  readonly image: string;
  readonly memoryMb: number;
  readonly processorsMax: number;
  readonly tasksMax: number;
  /** Size of `/tmp`, which counts as memory. */
  readonly temporaryMb: number;
  /** Other settings for the sandboxes of builds. */
  readonly builds?: BuildSettings;
}

/** Image and limits of build sandboxes. */
export interface BuildSettings {
  /** `BUILD_SANDBOX_IMAGE`; null means the default image. */
  readonly image: string | null;
  /** `BUILD_SANDBOX_MEMORY_MB`, `BUILD_SANDBOX_CPUS`, `BUILD_SANDBOX_PIDS`. */
  readonly memoryMb: number;
  readonly processorsMax: number;
  readonly tasksMax: number;
}

/** The settings of a sandbox, and its image. */
export function settingsFor(
  { builds, ...settings }: ContainerSettings,
  { place, options }: Pick<MachineSpec, 'place' | 'options'>,
): ContainerSettings {
  const { image, ...bounds } = place.resource === BUILD_RESOURCE && builds !== undefined ? builds : settings;
  return { ...settings, ...bounds, image: options.image ?? image ?? settings.image };
}

export function containerName({ installation }: Pick<ContainerSettings, 'installation'>, key: string): string {
  return `${PREFIX}${installation}-${key}`;
}

/** Label with the hosts that the sandbox may reach, so that a restarted service knows them. */
const EGRESS_LABEL = 'platform.sandbox.egress';

/** Label of sandboxes without access to the AI gateway. */
const NO_AI_LABEL = 'platform.sandbox.no-ai';

export function mayHaveAi(labels: Readonly<Record<string, string>> | null): boolean {
  return labels?.[NO_AI_LABEL] === undefined;
}

/** @returns the egress setting that a container was created with; an invalid setting allows nothing. */
export function egressOf(labels: Readonly<Record<string, string>> | null): EgressChoice | null {
  const written = labels?.[EGRESS_LABEL];
  if (written === undefined) return null;
  try {
    const { mode, allow } = JSON.parse(written) as EgressChoice;
    if (mode === 'all' || (mode === 'allow' && Array.isArray(allow))) return { mode, allow };
  } catch {
    // An unreadable label denies everything.
  }
  return { mode: 'none', allow: [] };
}

/** Resource limits of a machine: by its size, or the operator's defaults. */
function limitsOf(settings: ContainerSettings, { machine }: SandboxOptions) {
  if (machine !== null) return machineSizes[machine];
  return { processors: settings.processorsMax, memoryMb: settings.memoryMb, tasks: settings.tasksMax };
}

/** Labels of everything that belongs to an installation. */
export function labelsOf({ installation }: Pick<ContainerSettings, 'installation'>): Record<string, string> {
  return { 'platform.sandbox.installation': installation };
}

/** The body of `POST /containers/create`. */
export function containerSpec(
  given: ContainerSettings,
  spec: MachineSpec,
  volumes: {
    readonly workspace: string;
    readonly program: string;
  },
): object {
  const { project, resource, id } = spec.place;
  const settings = settingsFor(given, spec);
  const { egress, ai } = spec.options;
  const { processors, memoryMb, tasks } = limitsOf(settings, spec.options);
  const variables = { HOME: WORKSPACE, LANG: 'C.UTF-8', ...PROXY_VARIABLES, [COMPILED_VARIABLE]: COMPILED_FOLDER };
  return {
    Image: settings.image,
    Entrypoint: [],
    Cmd: PROGRAM_COMMAND,
    User: `${SANDBOX_USER}:${SANDBOX_USER}`,
    WorkingDir: WORKSPACE,
    Hostname: 'sandbox',
    Env: Object.entries(variables).map(([name, value]) => `${name}=${value}`),
    Labels: {
      ...labelsOf(settings),
      'platform.sandbox.key': spec.key,
      'platform.sandbox.project': project,
      'platform.sandbox.resource': resource,
      'platform.sandbox.id': id,
      ...(egress === null ? {} : { [EGRESS_LABEL]: JSON.stringify(egress) }),
      ...(ai === false ? { [NO_AI_LABEL]: 'true' } : {}),
    },
    OpenStdin: true,
    StdinOnce: false,
    AttachStdin: false,
    AttachStdout: false,
    AttachStderr: false,
    Tty: false,
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      // Reaps zombies of tenant commands.
      Init: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Memory: memoryMb * MB,
      MemorySwap: memoryMb * MB,
      NanoCpus: Math.round(processors * 1e9),
      PidsLimit: tasks,
      // The output is a data channel and must not be logged.
      LogConfig: { Type: 'none' },
      RestartPolicy: { Name: 'no' },
      IpcMode: 'private',
      Mounts: mountsOf(volumes),
      Tmpfs: {
        '/tmp': `rw,nosuid,nodev,mode=1777,size=${settings.temporaryMb}m`,
        [SECRETS_FOLDER]: `rw,nosuid,nodev,noexec,mode=1777,size=${SECRETS_SIZE}`,
      },
    },
  };
}

/** A container that gives a new volume to the user of commands, then exits. */
export function ownerSpec(
  settings: ContainerSettings,
  volumes: { readonly workspace: string; readonly program: string },
): object {
  return {
    Image: settings.image,
    Entrypoint: [],
    Cmd: [
      `${PROGRAM_FOLDER}/node`,
      '-e',
      `require('node:fs').chownSync('${WORKSPACE}', ${SANDBOX_USER}, ${SANDBOX_USER})`,
    ],
    User: '0:0',
    Labels: labelsOf(settings),
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      CapAdd: ['CHOWN'],
      SecurityOpt: ['no-new-privileges'],
      LogConfig: { Type: 'none' },
      Mounts: mountsOf(volumes),
    },
  };
}

function mountsOf({ workspace, program }: { readonly workspace: string; readonly program: string }): object[] {
  return [
    { Type: 'volume', Source: workspace, Target: WORKSPACE, VolumeOptions: { NoCopy: true } },
    { Type: 'volume', Source: program, Target: PROGRAM_FOLDER, ReadOnly: true },
  ];
}
