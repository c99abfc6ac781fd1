// The folders and the user of one build, and the running of commands in them: confined, bounded, and ended with
// everything they started. Called by run-build.ts and the steps; knows nothing of what is built.
import { randomBytes } from 'node:crypto';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, rm, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
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
import { BuildFailure, type BuildRequest } from './types.ts';
import { SOCKET_FOLDER, SOCKET_NAME, type InsideWayOut } from './way-out/inside.ts';
import { openListener } from './way-out/listener.ts';

/** One command. */
export interface FencedCommand extends CommandOutput {
  readonly words: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Text for its standard input; without one it is empty. */
  readonly input?: string;
  /** Largest file it may write; default: what the work folder may hold. */
  readonly fileBytesMax?: number;
  /** It is no stranger's, and runs as the platform itself. */
  readonly isOwn?: boolean;
  /**
   * Where builds have a network of their own; default: none. `machine`: the network of the machine, for a fetch.
   * `way out`: the hosts that {@link Fence.wayOut} allows.
   */
  readonly network?: 'machine' | 'way out';
  /** Read-only folders besides those of the system. */
  readonly readable?: readonly (readonly [from: string, to: string])[];
}

/** How a command ended. */
export interface FencedExit {
  /** Null where a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What one build runs in. */
export interface Fence {
  readonly folders: BuildFolders;
  /** User id of the build; null: the platform's own. */
  readonly uid: number | null;
  /** How its commands leave their network; null: they have the network of the machine they run on. */
  readonly wayOut: InsideWayOut | null;
  /**
   * Runs a command to its end. Nothing of it is left when this returns or throws.
   *
   * @throws {BuildFailure} `out_of_memory`, `too_many_processes`, `too_many_files`, `disk_full`; the reason of the
   *   build's signal.
   */
  run(command: FencedCommand): Promise<FencedExit>;
  /** Gives a folder and what is in it to the build's user. Only while no command runs. */
  giveAway(folder: string): Promise<void>;
  /** Ends what is left, and removes the folders. */
  close(): Promise<void>;
}

/** Makes the fence of one build. */
export type OpenFence = (request: BuildRequest) => Promise<Fence>;

/** How often bounds are looked at. */
const WATCH_MS = 200;
/** Looks at processes that no group counts are dearer. */
const PROCESS_LOOK_MS = 500;
/** What a killed build has to be gone in. */
const GONE_MS = 5000;
/** Folders that everybody may write to: cleared of a build's files where it sees them. */
const SHARED = ['/tmp', '/var/tmp', '/dev/shm'] as const;
const MEMORY_PART = 0.75;
/** On which the program that fences says what it made. */
const INFO_FD = 4;
/** A variable that all processes of a build inherit. */
const MARK = 'PLATFORM_BUILD';
const MB = 1024 * 1024;

/** Makes the folders and the groups of a build. */
export async function openFence(request: BuildRequest): Promise<Fence> {
  const { workFolder, confinement, slot, limits, signal } = request;
  const uid = uidOf(confinement, slot);
  const folders = foldersIn(workFolder);
  const memoryBytesMax = Math.floor(Math.min(limits.memoryMbMax * MB, machineMemory() * MEMORY_PART));
  const processorsMax = Math.min(limits.processorsMax, cpus().length);
  // Left by a build that was killed with its builder.
  if (uid !== null) await endUser(uid);
  await mkdir(workFolder, { recursive: true });
  // The build's user passes through it to its own folders, and sees no names of others.
  await chmod(workFolder, uid === null ? 0o700 : 0o711);
  for (const folder of Object.values(folders)) {
    await mkdir(folder, { mode: 0o700 });
    if (uid !== null) await chown(folder, uid, uid);
  }
  // Programs that ask for the name of their user find one.
  const passwd = join(workFolder, 'passwd');
  const id = uid ?? process.getuid?.() ?? 0;
  await writeFile(passwd, `build:x:${id}:${id}::${folders.home}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n`);
  const mark = randomBytes(8).toString('hex');
  const bounds = { memoryBytesMax, processesMax: limits.processesMax, processorsMax };
  const groups = await openControlGroups(confinement.withoutGroups === true ? null : bounds);
  const isShared = confinement.kind === 'user';
  const isParted = confinement.fence !== undefined && confinement.sharesNetwork !== true && request.sandbox === null;
  const listener = isParted ? await openListener(join(workFolder, 'way-out'), uid, request.wayOut) : null;
  const lookAtDisk = await watchDisk({
    folder: workFolder,
    shared: isShared ? SHARED : [],
    uid,
    bytesMax: limits.diskBytesMax,
    filesMax: limits.filesMax,
    freeBytesMin: limits.diskFreeBytesMin,
  });

  /** Which bound the build is over; null: none. */
  async function breach(root: number, looksAtProcesses: boolean): Promise<BuildFailure | null> {
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
      throw new BuildFailure('confinement_failed', `A process of the build cannot be started: ${error.message}`, {
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
      // What it left running goes, and only then are its pipes at their end.
      await endAll(root, await namespace);
      await Promise.all([kept.done, reading]);
      // The kernel may have ended the build before anybody looked.
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
        ...(listener === null || command.network !== 'way out' ? [] : [[listener.folder, SOCKET_FOLDER] as const]),
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
      // A process group of its own, to be ended as a whole.
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

  /** Kills whatever is left of the build, and waits until it is gone. @throws {BuildFailure} where it is not. */
  async function endAll(root: number, namespace: number | null): Promise<void> {
    const deadline = performance.now() + GONE_MS;
    for (;;) {
      killGroup(root);
      const left = await leftOf(root, namespace);
      if (left.length === 0) return;
      if (uid !== null) await endUser(uid);
      for (const id of left) kill(id);
      if (performance.now() > deadline)
        throw new BuildFailure('confinement_failed', 'Processes of the build could not be ended');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Ids of the processes of this build. Nothing leaves a control group by itself, so it knows them all. */
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
    wayOut: listener === null ? null : { socket: join(SOCKET_FOLDER, SOCKET_NAME), loopback: request.wayOut.loopback },
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

/** Number of the process namespace that this program made; null: none. */
async function namespaceOf(child: ChildProcess): Promise<number | null> {
  const stream = child.stdio[INFO_FD] as Readable | null;
  if (stream === null) return null;
  let text = '';
  try {
    for await (const chunk of stream) text += String(chunk);
    return (JSON.parse(text) as { 'pid-namespace'?: number })['pid-namespace'] ?? null;
  } catch {
    // It never came to making one.
    return null;
  }
}

/** Everything of a user at once: no process of it can start another one meanwhile. */
async function endUser(uid: number): Promise<void> {
  const words = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--', 'sh', '-c', 'kill -9 -1'];
  // It ends itself as well.
  await promisify(execFile)('setpriv', words).catch(() => {});
}

function killGroup(group: number): void {
  if (group > 1) kill(-group);
}

function kill(id: number): void {
  try {
    process.kill(id, 'SIGKILL');
  } catch {
    // Gone already.
  }
}

function tooMuchMemory(bytesMax: number): BuildFailure {
  const mb = Math.floor(bytesMax / MB);
  return new BuildFailure('out_of_memory', `The build used more than ${mb} MB of memory (BUILD_MEMORY_MB)`);
}

function tooManyProcesses(max: number): BuildFailure {
  return new BuildFailure(
    'too_many_processes',
    `The build started more than ${max} processes and threads at a time (BUILD_SANDBOX_PIDS)`,
  );
}
