// The platform's embedded Postgres, in its data folder: started if DATABASE_URL is not set. It listens only on a Unix
// socket, so no worker and no other machine can reach it. The caller holds the lock of the data folder: two never
// share one.
import { spawn, type ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { canEnter, placeBinaries, sharedFolder, unprivileged, type RunAs } from './embedded-binaries.ts';

/** The superuser and owner of the database, and the database's name. */
const owner = 'platform';
const START_MS_MAX = 60_000;
const STOP_MS_MAX = 15_000;
const LOG_BYTES_MAX = 10 * 1024 * 1024;
/** A socket's path has at most 107 bytes; Postgres adds `/.s.PGSQL.5432`. */
const SOCKET_FOLDER_BYTES_MAX = 90;
const RESTART_MS_MAX = 5000;

/** A running embedded Postgres. */
export interface EmbeddedPostgres {
  /** Connection URL of the owner; `host` in its query is the folder of the socket. Stable over restarts. */
  readonly url: string;
  /** Process id of the server. */
  readonly pid: number;
  stop(): Promise<void>;
}

/** Options. */
interface EmbeddedOptions {
  /** A separate folder for the data, the password and the log. */
  readonly folder: string;
  /** False: a power failure may lose everything. For tests. */
  readonly durable?: boolean;
  /** Free disk space required to create the data; a server with existing data always starts. */
  readonly keepsFreeBytes?: number;
  /** The server died and is restarted, or cannot be. */
  readonly onTrouble?: (message: string, details: Readonly<Record<string, unknown>>) => void;
  /** Aborts the start: its processes are ended, and it rejects. After it has resolved, use `stop`. */
  readonly signal?: AbortSignal;
}

/**
 * Starts the server, creating its data on the first run (about a second); it is restarted whenever it dies.
 *
 * @throws {Error} with the end of the server's log when it does not start.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const user = unprivileged();
  const folder = path.resolve(options.folder);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const seen = placeFor(folder, user);
  takeBack(folder, user);
  const { bin, version } = placeBinaries(seen.fd === null ? folder : sharedFolder, user);
  const password = passwordOf(folder);
  const sockets = socketFolder(folder, user);
  const log = path.join(folder, 'postgres.log');
  const major = version.split('.')[0]!;
  const dataFolder = path.join(folder, `data-${major}`);
  const own = (file: string): string => (seen.fd === null ? file : path.join(seen.folder, path.relative(folder, file)));
  const other = readdirSync(folder).find((name) => /^data-\d+$/.test(name));
  if (other !== undefined && other !== `data-${major}`) {
    throw new Error(
      `${folder} holds data of Postgres ${other.slice(5)}, but this version of the platform brings Postgres ${major}. ` +
        'Start the version that wrote it and make a backup, or move the folder away to start over',
    );
  }
  const giveUp = new AbortController();
  const { signal } = giveUp;
  const forward = (): void => giveUp.abort();
  options.signal?.throwIfAborted();
  options.signal?.addEventListener('abort', forward);
  await stopOrphan(dataFolder, own(dataFolder));
  if (!existsSync(dataFolder)) {
    checkSpace(folder, options.keepsFreeBytes ?? 0);
    await initialize({
      bin,
      folder,
      own,
      seen,
      dataFolder,
      password,
      user,
      durable: options.durable !== false,
      signal,
    });
  }
  const settings: Record<string, string> = {
    listen_addresses: '',
    unix_socket_directories: sockets.startsWith(`${folder}${path.sep}`) ? own(sockets) : sockets,
    unix_socket_permissions: '0700',
    max_connections: '200',
    shared_buffers: '128MB',
    jit: 'off',
    log_min_messages: 'warning',
    autovacuum_naptime: '15s',
    ...(options.durable === false ? { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' } : {}),
  };
  const args = [
    '-D',
    own(dataFolder),
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
  let child: ChildProcess;
  let stopping: Promise<void> | null = null;
  let deaths = 0;

  async function start(): Promise<void> {
    if (existsSync(log) && statSync(log).size > LOG_BYTES_MAX) renameSync(log, `${log}.1`);
    const began = performance.now();
    child = run(path.join(bin, 'postgres'), args, { user, log, seen, signal });
    await ready(child, dataFolder, log);
    void exitOf(child).then((code) => {
      if (stopping !== null || signal.aborted) return;
      deaths = performance.now() - began > 60_000 ? 1 : deaths + 1;
      options.onTrouble?.('Embedded Postgres exited: restarting', { code, deaths });
      void again();
    });
  }

  async function again(): Promise<void> {
    for (let delayMs = Math.min(RESTART_MS_MAX, 50 * deaths); stopping === null; delayMs = RESTART_MS_MAX) {
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      if (stopping !== null) return;
      try {
        return await start();
      } catch (error) {
        options.onTrouble?.('The embedded Postgres does not start', { reason: (error as Error).message });
      }
    }
  }

  async function stop(): Promise<void> {
    // Fast shutdown: clients are disconnected, everything is written.
    if (child.exitCode === null && child.signalCode === null) await end(child);
    if (seen.fd !== null) closeSync(seen.fd);
  }

  await start();
  options.signal?.removeEventListener('abort', forward);
  return {
    url: urlOf(password, sockets),
    get pid() {
      return child.pid!;
    },
    stop: () => (stopping ??= stop()),
  };
}

function urlOf(password: string, sockets: string): string {
  const url = new URL(`postgres://${owner}:${password}@localhost/${owner}`);
  url.searchParams.set('host', sockets);
  return url.href;
}

/**
 * The address of a folder's server, from its files.
 *
 * @returns null if it has no data yet; `isRunning` is false if no server has its socket there.
 */
export function findEmbeddedPostgres(given: string): { readonly url: string; readonly isRunning: boolean } | null {
  const folder = path.resolve(given);
  if (!existsSync(folder) || !readdirSync(folder).some((name) => /^data-\d+$/.test(name))) return null;
  const sockets = socketPath(folder);
  return { url: urlOf(passwordOf(folder), sockets), isRunning: existsSync(path.join(sockets, '.s.PGSQL.5432')) };
}

/** How the server reaches its folder: by its path, or by an inherited descriptor. */
interface Seen {
  readonly folder: string;
  /** Descriptor of the folder; null if its path is accessible. */
  readonly fd: number | null;
}

/** Number of the descriptor in the server and its programs. */
const INHERITED_FD = 3;

/**
 * As root, the server runs as a user who may not be able to enter the parent folders, such as `/root`. It then
 * inherits an open descriptor of its folder, so that the data stays in the requested folder, and no parent folder has
 * to be opened to others.
 *
 * @throws {Error} with instructions if the system does not support this.
 */
function placeFor(folder: string, user: RunAs | null): Seen {
  if (user !== null) chownSync(folder, user.uid, user.gid);
  chmodSync(folder, 0o700);
  if (canEnter(path.dirname(folder), user)) return { folder, fd: null };
  if (process.platform !== 'linux')
    throw new Error(
      `Postgres does not run as root, and the user it runs as cannot enter ${path.dirname(folder)}. ` +
        'Start the platform as another user, name a data folder that all may enter (FS_PATH), or set DATABASE_URL to a Postgres of your own',
    );
  return { folder: `/proc/self/fd/${INHERITED_FD}`, fd: openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY) };
}

/** Earlier versions moved the data elsewhere, and left a note: moves it back into the data folder. */
function takeBack(folder: string, user: RunAs | null): void {
  const note = path.join(folder, 'LOCATION');
  if (!existsSync(note)) return;
  const elsewhere = readFileSync(note, 'utf8').trim();
  for (const name of existsSync(elsewhere) ? readdirSync(elsewhere).filter((entry) => /^data-\d+$/.test(entry)) : []) {
    const target = path.join(folder, name);
    if (existsSync(target)) continue;
    try {
      renameSync(path.join(elsewhere, name), target);
    } catch (error) {
      throw new Error(
        `The data of the embedded Postgres lies in ${elsewhere}: move ${name} to ${folder}, its owner kept`,
        {
          cause: error,
        },
      );
    }
    if (user !== null) chownSync(target, user.uid, user.gid);
  }
  rmSync(note);
}

function passwordOf(folder: string): string {
  const file = path.join(folder, 'password');
  if (!existsSync(file)) writeFileSync(file, randomBytes(24).toString('hex'), { mode: 0o600 });
  return readFileSync(file, 'utf8').trim();
}

/** Clients find it by its path, so it is elsewhere if that is too long; nothing is stored in it. */
function socketPath(place: string): string {
  const folder = path.join(place, 'socket');
  if (Buffer.byteLength(folder) <= SOCKET_FOLDER_BYTES_MAX) return folder;
  const hash = createHash('sha256').update(place).digest('hex').slice(0, 16);
  return path.join(Buffer.byteLength(tmpdir()) > 40 ? '/tmp' : tmpdir(), `platform-pg-${hash}`);
}

function socketFolder(place: string, user: RunAs | null): string {
  const folder = socketPath(place);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid } = statSync(folder);
  if (uid !== (process.getuid?.() ?? uid) && uid !== user?.uid) throw new Error(`${folder} belongs to somebody else`);
  if (user !== null) chownSync(folder, user.uid, user.gid);
  chmodSync(folder, 0o700);
  return folder;
}

/** Disk usage of a new server. */
const NEW_DATA_BYTES = 64 * 1024 * 1024;

function checkSpace(folder: string, keepsFreeBytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  if (keepsFreeBytes > 0 && bavail * bsize < NEW_DATA_BYTES + keepsFreeBytes)
    throw new Error(
      `The disk of ${folder} has ${bavail * bsize} bytes free: an embedded Postgres needs ${NEW_DATA_BYTES}, and ${keepsFreeBytes} stay free (DISK_FREE_BYTES_MIN)`,
    );
}

async function initialize(deps: {
  bin: string;
  folder: string;
  /** A path as the server sees it. */
  own: (file: string) => string;
  seen: Seen;
  dataFolder: string;
  password: string;
  user: RunAs | null;
  durable: boolean;
  signal: AbortSignal;
}): Promise<void> {
  const { folder, own, seen, user, signal } = deps;
  // Created under another name and renamed when complete, so that an interrupted first start leaves nothing that
  // looks complete.
  const unfinished = `${deps.dataFolder}.unfinished`;
  const passwordFile = path.join(folder, 'initial-password');
  const log = path.join(folder, 'postgres.log');
  rmSync(unfinished, { recursive: true, force: true });
  writeFileSync(passwordFile, `${deps.password}\n`, { mode: 0o600 });
  if (user !== null) chownSync(passwordFile, user.uid, user.gid);
  const args = `-U ${owner} --auth=scram-sha-256 --no-locale -E UTF8`.split(' ');
  const child = run(
    path.join(deps.bin, 'initdb'),
    ['-D', own(unfinished), `--pwfile=${own(passwordFile)}`, ...args, ...(deps.durable ? [] : ['--no-sync'])],
    { user, log, seen, signal },
  );
  const code = await exitOf(child);
  rmSync(passwordFile, { force: true });
  if (code !== 0)
    throw new Error(`The data of the embedded Postgres cannot be created (initdb: ${code}):\n${endOf(log)}`);
  // The owner's database must exist before the first connection: the single-user mode needs no password and no
  // socket.
  const single = run(path.join(deps.bin, 'postgres'), ['--single', '-D', own(unfinished), 'postgres'], {
    user,
    log,
    seen,
    signal,
    input: `CREATE DATABASE ${owner}\n`,
  });
  const created = await exitOf(single);
  if (created !== 0)
    throw new Error(`The database of the embedded Postgres cannot be created (${created}):\n${endOf(log)}`);
  renameSync(unfinished, deps.dataFolder);
}

/** Stops a server left by an earlier run (kill -9): its settings may be old, and its exit would not be noticed. */
/** @param own the folder as its server sees it. */
async function stopOrphan(dataFolder: string, own: string): Promise<void> {
  const file = path.join(dataFolder, 'postmaster.pid');
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  if (!Number.isInteger(pid) || pid <= 1 || !(await isServerOf(pid, dataFolder, own))) {
    rmSync(file, { force: true });
    return;
  }
  for (const [signal, waitMs] of [
    ['SIGINT', STOP_MS_MAX] as const,
    ['SIGQUIT', 5000] as const,
    ['SIGKILL', 5000] as const,
  ]) {
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
    if (await gone(pid, waitMs)) return;
  }
  throw new Error(`Process ${pid} holds the data of the embedded Postgres in ${dataFolder} and does not end`);
}

/** Whether the process is a Postgres on this folder; its id may be reused by another program. */
async function isServerOf(pid: number, dataFolder: string, own: string): Promise<boolean> {
  if (existsSync('/proc/self/cmdline')) {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      // A descriptor's number does not identify its folder, but the server's working directory does.
      return (
        words.includes(dataFolder) ||
        (words.includes(own) && readlinkSync(`/proc/${pid}/cwd`) === realpathSync(dataFolder))
      );
    } catch {
      return false;
    }
  }
  const child = spawn('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await exitOf(child);
  return output.includes(dataFolder);
}

async function gone(pid: number, waitMs: number): Promise<boolean> {
  for (
    const until = performance.now() + waitMs;
    performance.now() < until;
    await new Promise((resolve) => setTimeout(resolve, 20))
  ) {
    try {
      process.kill(pid, 0);
    } catch {
      return true;
    }
    // Its parent is gone too, and the process that adopted it may be slow to reap it.
    try {
      if (/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) return true;
    } catch {
      // Not on Linux, or just gone.
    }
  }
  return false;
}

function run(
  program: string,
  args: readonly string[],
  options: { user: RunAs | null; log: string; seen: Seen; input?: string; signal: AbortSignal },
): ChildProcess {
  const { signal } = options;
  signal.throwIfAborted();
  // A log file rather than a pipe: a pipe would end the server when this process dies, and keep a shell open while it
  // runs.
  const log = openSync(options.log, 'a', 0o600);
  try {
    const child = spawn(program, args, {
      cwd: options.seen.fd === null ? options.seen.folder : '/',
      // A separate session: the terminal's Ctrl-C only reaches this process, which stops the server after its
      // clients.
      detached: true,
      env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' },
      stdio: [
        options.input === undefined ? 'ignore' : 'pipe',
        log,
        log,
        ...(options.seen.fd === null ? [] : [options.seen.fd]),
      ],
      ...options.user,
    });
    child.on('error', () => {});
    // Each program of Postgres cleans up after SIGTERM; a server without clients stops at once.
    const end = (): void => void child.kill('SIGTERM');
    signal.addEventListener('abort', end);
    child.on('exit', () => signal.removeEventListener('abort', end));
    child.stdin?.on('error', () => {});
    if (options.input !== undefined) child.stdin!.end(options.input);
    return child;
  } finally {
    closeSync(log);
  }
}

function exitOf(child: ChildProcess): Promise<number | string> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode ?? child.signalCode!);
  return new Promise((resolve) => {
    child.on('exit', (code, signal) => resolve(code ?? signal ?? 1));
    child.on('error', (error) => resolve(error.message));
  });
}

/** Resolves when the server accepts connections, as shown in the last line of its pid file. */
async function ready(child: ChildProcess, dataFolder: string, log: string): Promise<void> {
  let ended: number | string | null = null;
  void exitOf(child).then((code) => (ended = code));
  const file = path.join(dataFolder, 'postmaster.pid');
  for (
    const until = performance.now() + START_MS_MAX;
    performance.now() < until;
    await new Promise((resolve) => setTimeout(resolve, 5))
  ) {
    if (ended !== null) throw new Error(`The embedded Postgres does not start (${String(ended)}):\n${endOf(log)}`);
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
    if (Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready') return;
  }
  child.kill('SIGQUIT');
  throw new Error(`The embedded Postgres is not ready after ${START_MS_MAX / 1000} s:\n${endOf(log)}`);
}

async function end(child: ChildProcess): Promise<void> {
  const ended = exitOf(child);
  child.kill('SIGINT');
  const impatient = setTimeout(() => child.kill('SIGQUIT'), STOP_MS_MAX);
  await ended;
  clearTimeout(impatient);
}

function endOf(log: string): string {
  try {
    return readFileSync(log, 'utf8').trimEnd().split('\n').slice(-8).join('\n');
  } catch {
    return '(no log)';
  }
}
