// The folders and the user of one build, and its commands: confined, limited, and killed with all of their processes.
// Called by run-build.ts and the steps; independent of what is built.
import { randomBytes } from 'node:crypto';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, rm, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import type { Failure } from '#core/failure.ts';
import { confinedCommand, uidOf } from '#core/process/confinement/command-line.ts';
import { unconfined } from '#core/process/confinement/confinement.ts';
import { openControlGroups } from '#core/process/confinement/control-groups.ts';
import { machineMemory } from '#core/process/machine-memory.ts';
import { refuseLinks, foldersIn, removeFolders, type BuildFolders } from './build-folders.ts';
import { keepOutput, type CommandOutput } from './command-output.ts';
import { leftBehind, watchDisk } from './disk-watch.ts';
import {
  processesInNamespace,
  processesOf,
  processesWith,
  readProcesses,
} from '#core/process/confinement/process-table.ts';
import type { Confinement } from '#core/process/confinement/types.ts';
import { fencedVariables } from './environment.ts';
import { ownFolders } from './own-folders.ts';
import { buildFailure, type BuildRequest } from './types.ts';
import { SOCKET_FOLDER, SOCKET_NAME, type BuildOutbound } from './outbound/inside.ts';
import { openListener } from './outbound/listener.ts';

/** One command. */
export interface FencedCommand extends CommandOutput {
  readonly words: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Standard input; empty by default. */
  readonly input?: string;
  /** Maximum size of a file that the command writes; by default, the limit of the work folder. */
  readonly fileBytesMax?: number;
  /** Whether the command is trusted and runs as the platform's user. */
  readonly isOwn?: boolean;
  /**
   * Network access, if builds have their own network; no access by default. `machine`: the machine's network, for a
   * fetch. `outbound`: the hosts allowed by {@link Fence.outbound}.
   */
  readonly network?: 'machine' | 'outbound';
  /** Read-only folders in addition to the system's folders. */
  readonly readable?: readonly (readonly [from: string, to: string])[];
}

/** Result of a command. */
export interface FencedExit {
  /** Exit code; null if a signal ended the process. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The environment of one build. */
export interface Fence {
  readonly folders: BuildFolders;
  /** User id of the build; null means the user of the platform. */
  readonly uid: number | null;
  /** How commands of the build reach allowed hosts; null means that they use the machine's network. */
  readonly outbound: BuildOutbound | null;
  /**
   * Runs a command and waits for it. When this returns or throws, all processes of the command have exited.
   *
   * @throws {Failure} `build`: `out_of_memory`, `too_many_processes`, `too_many_files`, `disk_full`; the reason of the
   *   build's signal.
   */
  run(command: FencedCommand): Promise<FencedExit>;
  /** Gives a folder recursively to the build's user. Call this function only while no command runs. */
  giveAway(folder: string): Promise<void>;
  /** Kills remaining processes, and deletes the folders. */
  close(): Promise<void>;
}

/** Creates the confined environment of one build. */
export type OpenFence = (request: BuildRequest) => Promise<Fence>;

/** How often limits are checked. */
const WATCH_MS = 200;
/** Interval of checks that scan all processes, which cost more. */
const PROCESS_LOOK_MS = 500;
/** Timeout for killed processes to exit. */
const GONE_MS = 5000;
/** World-writable folders. If a build can access them, its files there are deleted. */
const SHARED = ['/tmp', '/var/tmp', '/dev/shm'] as const;
const MEMORY_PART = 0.75;
/** File descriptor on which the confining program reports. */
const INFO_FD = 4;
/** A variable inherited by all processes of a build. */
const MARK = 'PLATFORM_BUILD';
const MB = 1024 * 1024;

/** Creates the folders and control groups of a build. */
export async function openFence(request: BuildRequest): Promise<Fence> {
  const { workFolder, confinement, slot, limits, signal } = request;
  const uid = uidOf(confinement, slot);
  const folders = foldersIn(workFolder);
  const memoryBytesMax = Math.floor(Math.min(limits.memoryMbMax * MB, machineMemory() * MEMORY_PART));
  const processorsMax = Math.min(limits.processorsMax, cpus().length);
  // A build that was killed with its builder may have left processes of this user.
  if (uid !== null) await endUser(uid);
  await mkdir(workFolder, { recursive: true });
  // The build's user can traverse it to its own folders, but not list it.
  await chmod(workFolder, uid === null ? 0o700 : 0o711);
  for (const folder of Object.values(folders)) {
    await mkdir(folder, { mode: 0o700 });
    if (uid !== null) await chown(folder, uid, uid);
  }
  // The file has a passwd entry for programs that look up their user name.
  const passwd = join(workFolder, 'passwd');
  const id = uid ?? process.getuid?.() ?? 0;
  await writeFile(passwd, `build:x:${id}:${id}::${folders.home}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n`);
  const mark = randomBytes(8).toString('hex');
  const bounds = { memoryBytesMax, processesMax: limits.processesMax, processorsMax };
  const groups = await openControlGroups(confinement.withoutGroups === true ? null : bounds);
  const isShared = confinement.kind === 'user';
  const isParted = confinement.fence !== undefined && confinement.sharesNetwork !== true && request.sandbox === null;
  const listener = isParted ? await openListener(join(workFolder, 'outbound'), uid, request.outbound) : null;
  const lookAtDisk = await watchDisk({
    folder: workFolder,
    shared: isShared ? SHARED : [],
    uid,
    bytesMax: limits.diskBytesMax,
    filesMax: limits.filesMax,
    freeBytesMin: limits.diskFreeBytesMin,
  });

  /** The limit that the build exceeds, or null. */
  async function breach(root: number, looksAtProcesses: boolean): Promise<Failure<'build'> | null> {
    const hit = await groups.hit();
    if (hit === 'memory') return tooMuchMemory(memoryBytesMax);
    if (hit === 'processes') return tooManyProcesses(limits.processesMax);
    const disk = await lookAtDisk();
    if (disk !== null) return disk;
    if (!looksAtProcesses || (groups.hasMemory && groups.hasProcesses)) return null;
    const own = processesOf(await readProcesses(), root, uid);
    const sum = (of: 'bytes' | 'threads'): number => own.reduce((total, entry) => total + entry[of], 0);
    if (!groups.hasMemory && sum('bytes') > memoryBytesMax) return tooMuchMemory(memoryBytesMax);
    if (!groups.hasProcesses && sum('threads') >= limits.processesMax) return tooManyProcesses(limits.processesMax);
    return null;
  }

  async function run(command: FencedCommand): Promise<FencedExit> {
    signal.throwIfAborted();
    const child = start(command);
    const root = child.pid;
    if (root === undefined) {
      const [error] = (await once(child, 'error')) as [Error];
      throw buildFailure('confinement_failed', `A process of the build cannot be started: ${error.message}`, {
        cause: error,
      });
    }
    child.on('error', () => {});
    const forget = request.onProcessGroup(root);
    const kept = keepOutput(child, command);
    const namespace = namespaceOf(child);
    let ending: unknown = null;
    const end = (why: unknown): void => {
      ending ??= why;
      killGroup(root);
      child.kill('SIGKILL');
    };
    const abort = (): void => end(signal.reason);
    signal.addEventListener('abort', abort);
    const reading = command.read?.(child.stdout!).catch(end);
    if (command.input !== undefined) child.stdin!.on('error', () => {}).end(command.input);
    const watching = watch(root, end);
    try {
      const [code, killedBy] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
      watching.stop();
      // Kill background processes first: they hold the pipes open.
      await endAll(root, await namespace);
      await Promise.all([kept.done, reading]);
      // The kernel may have killed the build before the next check.
      if (ending === null && code !== 0) ending = await breach(0, false);
      if (ending !== null) throw ending;
      await refuseLinks([...Object.values(folders), passwd, ...(listener === null ? [] : [listener.folder])]);
      return { code, signal: killedBy, ...kept.texts() };
    } finally {
      watching.stop();
      signal.removeEventListener('abort', abort);
      forget();
    }
  }

  function start(command: FencedCommand): ChildProcess {
    const how: Confinement = command.isOwn === true ? unconfined : confinement;
    const bounds = {
      slot,
      cwd: command.cwd,
      writable: [workFolder],
      tmp: folders.tmp,
      groups: groups.files,
      processesMax: limits.processesMax,
      fileBytesMax: command.fileBytesMax ?? limits.diskBytesMax,
      readable: [
        ...ownFolders().map((path) => [path, path] as const),
        [passwd, '/etc/passwd'] as const,
        ...(listener === null || command.network !== 'outbound' ? [] : [[listener.folder, SOCKET_FOLDER] as const]),
        ...(command.readable ?? []),
      ],
      isOffline: command.network !== 'machine',
      ...(how.fence !== undefined && { infoFd: INFO_FD }),
    };
    const { outside, inside } =
      command.isOwn === true ? { outside: command.env, inside: [] } : fencedVariables(command.env);
    const { file, args } = confinedCommand(how, bounds, [...inside, ...command.words]);
    return spawn(file, args, {
      cwd: '/',
      env: { ...outside, [MARK]: mark },
      // The command gets its own process group, so that all of its processes can be killed.
      detached: true,
      stdio: [
        command.input === undefined ? 'ignore' : 'pipe',
        'pipe',
        'pipe',
        command.onReport === undefined ? 'ignore' : 'pipe',
        how.fence === undefined ? 'ignore' : 'pipe',
      ],
    });
  }

  function watch(root: number, end: (why: unknown) => void): { stop(): void } {
    let isOver = false;
    let timer: NodeJS.Timeout | undefined;
    let lookedAt = -Infinity;
    const look = async (): Promise<void> => {
      const looks = performance.now() - lookedAt >= PROCESS_LOOK_MS;
      if (looks) lookedAt = performance.now();
      const found = await breach(root, looks).catch(() => null);
      if (isOver) return;
      if (found !== null) end(found);
      timer = setTimeout(() => void look(), WATCH_MS);
    };
    timer = setTimeout(() => void look(), WATCH_MS);
    return {
      stop() {
        isOver = true;
        clearTimeout(timer);
      },
    };
  }

  /**
   * Kills the build's remaining processes and waits for their exit. @throws {Failure} `build` if the processes do not
   * exit.
   */
  async function endAll(root: number, namespace: number | null): Promise<void> {
    const deadline = performance.now() + GONE_MS;
    for (;;) {
      killGroup(root);
      const left = await leftOf(root, namespace);
      if (left.length === 0) return;
      if (uid !== null) await endUser(uid);
      for (const id of left) kill(id);
      if (performance.now() > deadline)
        throw buildFailure('confinement_failed', 'Processes of the build could not be stopped');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Process ids of this build. Processes cannot leave their control group, so the control group lists all of them. */
  async function leftOf(root: number, namespace: number | null): Promise<readonly number[]> {
    const grouped = await groups.processes();
    if (grouped !== null) return grouped;
    const entries = await readProcesses();
    const left = processesOf(entries, uid === null ? root : 0, uid).map(({ id }) => id);
    if (uid !== null) return left;
    if (namespace !== null) return [...left, ...(await processesInNamespace(entries, namespace))];
    return confinement.kind === 'none' ? [...left, ...(await processesWith(entries, `${MARK}=${mark}`))] : left;
  }

  return {
    folders,
    uid,
    outbound:
      listener === null ? null : { socket: join(SOCKET_FOLDER, SOCKET_NAME), loopback: request.outbound.loopback },
    run,
    async giveAway(folder) {
      if (uid !== null) await promisify(execFile)('chown', ['-hR', `${uid}:${uid}`, '--', folder]);
    },
    async close() {
      if (uid !== null) await endUser(uid);
      if (uid !== null && isShared)
        for (const path of await leftBehind(SHARED, uid))
          await rm(path, { recursive: true, force: true }).catch(() => {});
      await listener?.close();
      await removeFolders([...Object.values(folders), passwd]);
      await groups.close();
    },
  };
}

/** Number of the process namespace created by this program, or null. */
async function namespaceOf(child: ChildProcess): Promise<number | null> {
  const stream = child.stdio[INFO_FD] as Readable | null;
  if (stream === null) return null;
  let text = '';
  try {
    for await (const chunk of stream) text += String(chunk);
    return (JSON.parse(text) as { 'pid-namespace'?: number })['pid-namespace'] ?? null;
  } catch {
    // The process exited before it created a namespace.
    return null;
  }
}

/** Kills all processes of a user in one call, so that none can fork in the meantime. */
async function endUser(uid: number): Promise<void> {
  const words = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--', 'sh', '-c', 'kill -9 -1'];
  // The process that kills is of the same user, so it kills itself too.
  await promisify(execFile)('setpriv', words).catch(() => {});
}

function killGroup(group: number): void {
  if (group > 1) kill(-group);
}

function kill(id: number): void {
  try {
    process.kill(id, 'SIGKILL');
  } catch {
    // Already exited.
  }
}

function tooMuchMemory(bytesMax: number): Failure<'build'> {
  const mb = Math.floor(bytesMax / MB);
  return buildFailure('out_of_memory', `The build used more than ${mb} MB of memory (BUILD_MEMORY_MB)`);
}

function tooManyProcesses(max: number): Failure<'build'> {
  return buildFailure(
    'too_many_processes',
    `The build started more than ${max} processes and threads at a time (BUILD_SANDBOX_PIDS)`,
  );
}
