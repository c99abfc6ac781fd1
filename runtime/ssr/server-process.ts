// One server of an ssr project: a confined process in its own network, from its start until all its processes have
// ended. servers.ts decides when it runs; this module is independent of engines.
import { spawn, type ChildProcess } from 'node:child_process';
import { chmod, chown, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { watch, type FSWatcher } from 'node:fs';
import { connect, type LookupFunction } from 'node:net';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { EgressPolicy } from '#core/egress.ts';
import type { SsrLimits } from '#core/limits.ts';
import { confinedCommand, nodeFolders, uidOf } from '#core/process/confinement/command-line.ts';
import { openControlGroups, type ControlGroups } from '#core/process/confinement/control-groups.ts';
import {
  processesInNamespace,
  processesOf,
  readProcesses,
  readProcessesLately,
  type ProcessEntry,
} from '#core/process/confinement/process-table.ts';
import type { Confinement } from '#core/process/confinement/types.ts';
import { openEgress } from './egress.ts';
import { serverEnvironment, shellVariables } from './environment.ts';

/** Options of a server. */
interface ServerStart {
  readonly confinement: Confinement;
  /** Slot number of the server, which determines its user. */
  readonly slot: number;
  readonly limits: SsrLimits;
  /** Folder of the unpacked archive. */
  readonly code: string;
  /** The working folder in the archive, and the command that is run there. */
  readonly folder: string;
  readonly start: string;
  readonly vars: Readonly<Record<string, string>>;
  /** A private folder with a short path, for the server's sockets. */
  readonly run: string;
  /** The engines' group. */
  readonly engineGid: number;
  readonly policy: EgressPolicy;
  readonly lookup: LookupFunction;
  /**
   * Opens the server's other sockets in its folder. @returns the function that closes them, and variables with their
   * paths.
   */
  readonly openCalls: (folder: string) => Promise<OpenCalls>;
  readonly onLine: (level: 'info' | 'error', text: string) => void;
}

/** Socket for a server's binding calls. */
export interface OpenCalls {
  /** Path of the Unix socket, which also accepts requests to the AI gateway. */
  readonly socket: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly close: () => void;
}

/** Why a server ended, in words for the author of its project. */
interface ServerEnd {
  readonly reason: string;
}

const PRELOAD = path.join(import.meta.dirname, 'preload.cjs');
/** Paths inside the confinement. */
const CODE = '/app';
/** Parts of the server's folder: one that it can write to, and one with sockets for its calls. */
const OWN = 'own';
const DOORS = 'doors';
const SOCKET = 'http.sock';
const PRELOAD_INSIDE = '/platform/preload.cjs';
const INFO_FD = 3;
const CONNECT_MS = 10;
const WATCH_MS = 1000;
const MB = 1024 * 1024;

/** A running server. */
export class ServerProcess {
  readonly socket: string;
  /** Resolves when all processes of the server have exited. */
  readonly ended: Promise<ServerEnd>;
  #given: ServerStart;
  #child: ChildProcess;
  #groups: ControlGroups;
  #namespace: Promise<number | null>;
  #close: () => void;
  #reason: string | null = null;
  #lastError = '';

  private constructor(given: ServerStart, child: ChildProcess, groups: ControlGroups, close: () => void) {
    this.#given = given;
    this.#child = child;
    this.#groups = groups;
    this.#close = close;
    this.socket = path.join(given.run, OWN, SOCKET);
    this.#namespace = namespaceOf(child);
    this.#read(child.stdout!, 'info');
    this.#read(child.stderr!, 'error');
    this.ended = this.#end();
  }

  /** Starts the server; it listens when `listening` resolves. */
  static async start(given: ServerStart): Promise<ServerProcess> {
    const { confinement, limits, run, slot } = given;
    const uid = uidOf(confinement, slot);
    const own = path.join(run, OWN);
    const doors = path.join(run, DOORS);
    await rm(run, { recursive: true, force: true });
    await mkdir(own, { recursive: true, mode: 0o700 });
    // Only the platform writes to this folder, so files that it opens by name are files that it has created.
    await mkdir(doors, { mode: 0o755 });
    if (uid !== null) {
      await chmod(run, 0o711);
      await chown(own, uid, given.engineGid);
      await chmod(own, 0o710);
    }
    const calls = await given.openCalls(doors);
    const closeEgress = await openEgress({
      folder: doors,
      policy: given.policy,
      lookup: given.lookup,
      connectionsMax: limits.connectionsMax,
      gateway: calls.socket,
    });
    const groups = await openControlGroups(
      confinement.withoutGroups === true
        ? null
        : {
            memoryBytesMax: limits.memoryMbMax * MB,
            processesMax: limits.tasksMax,
            processorsMax: limits.processorsMax,
          },
    );
    const environment = serverEnvironment({
      vars: given.vars,
      platform: calls.variables,
      run,
      preload: PRELOAD_INSIDE,
      cwd: path.posix.join(CODE, given.folder),
      memoryMbMax: limits.memoryMbMax,
    });
    const variables = path.join(doors, 'variables.sh');
    await writeFile(variables, shellVariables(environment), { mode: 0o400, flag: 'wx' });
    if (uid !== null) await chown(variables, uid, uid);
    const { file, args } = confinedCommand(
      confinement,
      {
        slot,
        cwd: path.posix.join(CODE, given.folder),
        writable: [own],
        readable: [
          ...nodeFolders().map((folder) => [folder, folder] as const),
          [given.code, CODE],
          [PRELOAD, PRELOAD_INSIDE],
          [doors, doors],
        ],
        tmp: limits.temporaryBytesMax,
        groups: groups.files,
        processesMax: limits.tasksMax,
        // The server should only write to this folder, because /tmp has less room.
        fileBytesMax: 2 * limits.temporaryBytesMax,
        infoFd: INFO_FD,
        isOffline: true,
        isServing: true,
        hostname: 'server',
      },
      // The variables are read inside the confinement, because outside, a variable such as LD_PRELOAD or PATH would run
      // the server's code unconfined.
      ['sh', '-c', `. "$0"\n${shellCommand(given.start)}`, variables],
    );
    const child = spawn(file, args, {
      cwd: '/',
      env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    });
    return new ServerProcess(given, child, groups, () => {
      closeEgress();
      calls.close();
    });
  }

  /** Resolves when the server accepts connections. @throws {Error} with the reason, in words for its author. */
  async listening(): Promise<void> {
    const { limits, run } = this.#given;
    let look = (): void => {};
    let watcher: FSWatcher | null = null;
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const late = (): void => {
          this.kill(
            `it did not listen within ${limits.startMs} ms (SSR_START_MS). A server has to listen on the port that the variable PORT says`,
          );
        };
        timer = setTimeout(late, limits.startMs);
        void this.ended.then(({ reason }) => reject(new Error(reason)));
        look = (): void => {
          const socket = connect(this.socket);
          socket.once('connect', () => {
            socket.destroy();
            resolve();
          });
          socket.once('error', ({ code }: NodeJS.ErrnoException) => {
            // The socket may exist, although no process listens yet.
            if (code === 'ECONNREFUSED') setTimeout(look, CONNECT_MS);
          });
        };
        watcher = watch(path.join(run, OWN), (_event, name) => name === SOCKET && look());
        look();
      });
    } finally {
      clearTimeout(timer);
      (watcher as FSWatcher | null)?.close();
    }
  }

  /** Asks the server to end, and kills it after a timeout. */
  async stop(): Promise<void> {
    this.#reason ??= 'it was stopped';
    const ids = await this.#inside(await readProcesses());
    for (const id of ids) signal(id, 'SIGTERM');
    if (ids.length === 0) this.#kill();
    const timer = setTimeout(() => this.#kill(), this.#given.limits.stopMs);
    await this.ended;
    clearTimeout(timer);
  }

  /** Kills it immediately. @param reason the reason, for the author of the server */
  kill(reason: string): void {
    this.#reason ??= reason;
    this.#kill();
  }

  #kill(): void {
    if (this.#child.pid !== undefined) signal(-this.#child.pid, 'SIGKILL');
  }

  /** The processes of the server, without those of the confinement. */
  async #inside(entries: readonly ProcessEntry[]): Promise<number[]> {
    const inode = await this.#namespace;
    const below = processesOf(entries, this.#child.pid ?? 0, null);
    return inode === null ? below.map(({ id }) => id) : processesInNamespace(below, inode);
  }

  async #end(): Promise<ServerEnd> {
    const child = this.#child;
    const watching = setInterval(() => void this.#look().catch(() => {}), WATCH_MS).unref();
    const how = await new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code, killedBy) => resolve(killedBy === null ? `exit code ${code}` : killedBy));
    });
    clearInterval(watching);
    this.#close();
    if ((await this.#groups.hit()) === 'memory') this.#reason = this.#tooMuchMemory();
    await this.#groups.close();
    await rm(this.#given.run, { recursive: true, force: true });
    const said = this.#lastError === '' ? '' : `. It wrote: ${this.#lastError}`;
    return { reason: this.#reason ?? `it ended (${how})${said}` };
  }

  /** Checks limits that no control group enforces. */
  async #look(): Promise<void> {
    const { run } = this.#given;
    // Files in the folder are not counted as memory, because the folder may be on a disk.
    if ((await readdir(path.join(run, OWN))).some((name) => name !== SOCKET))
      this.kill('it wrote to the folder of its socket: only /tmp is for files (SSR_TMP_MAX_BYTES)');
    const hit = await this.#groups.hit();
    if (hit === 'memory') this.kill(this.#tooMuchMemory());
    if (this.#groups.hasMemory) return;
    if ((await this.residentBytes()) > this.#given.limits.memoryMbMax * MB) this.kill(this.#tooMuchMemory());
  }

  /** The memory of the server that is not shared with a file. */
  async residentBytes(): Promise<number> {
    const entries = await readProcessesLately(WATCH_MS / 2);
    const inside = new Set(await this.#inside(entries));
    return entries.reduce((sum, { id, bytes }) => (inside.has(id) ? sum + bytes : sum), 0);
  }

  #tooMuchMemory(): string {
    return `it used more than ${this.#given.limits.memoryMbMax} MB of memory (SSR_MEMORY_MB)`;
  }

  #read(stream: Readable, level: 'info' | 'error'): void {
    const { onLine, limits } = this.#given;
    let rest = '';
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop()!;
      // A line that is too long is split.
      if (rest.length > limits.logLineCharsMax) {
        lines.push(rest);
        rest = '';
      }
      for (const line of lines) this.#line(level, line, onLine);
    });
    stream.once('end', () => rest !== '' && this.#line(level, rest, onLine));
  }

  #line(level: 'info' | 'error', text: string, onLine: ServerStart['onLine']): void {
    const line = text.slice(0, this.#given.limits.logLineCharsMax).replace(/\r$/, '');
    if (line === '') return;
    if (level === 'error' && /error/i.test(line)) this.#lastError = line.slice(0, 300);
    onLine(level, line);
  }
}

/** A single command is run without a shell, so that signals reach it, and to save memory. */
function shellCommand(start: string): string {
  const [, variables = '', command] = /^((?:[A-Za-z_]\w*=[\w./:@-]*\s+)*)([\w./:@=,\s-]+)$/.exec(start) ?? [];
  return command === undefined || /^(?:cd|exec|set|export)\s/.test(command) ? start : `${variables}exec ${command}`;
}

/** The number of the process namespace that the fence has created, or null. */
async function namespaceOf(child: ChildProcess): Promise<number | null> {
  let text = '';
  try {
    for await (const chunk of child.stdio[INFO_FD] as Readable) text += String(chunk);
    return (JSON.parse(text) as { 'pid-namespace'?: number })['pid-namespace'] ?? null;
  } catch {
    return null;
  }
}

function signal(id: number, name: NodeJS.Signals): void {
  try {
    process.kill(id, name);
  } catch {
    // Already gone.
  }
}
