// The platform's embedded Postgres, in its data folder: started if DATABASE_URL is not set. The server listens only on
// a Unix socket, so no worker and no other machine can reach it. The caller holds the lock of the data folder, so two
// servers never share one.
import type { ChildProcess } from 'node:child_process';
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { placeBinaries, sharedFolder, unprivileged, type RunAs } from './embedded-binaries.ts';
import { checkSpace, passwordOf, placeFor, socketFolder, socketPath, takeBack, type Seen } from './embedded-folder.ts';
import { end, endOf, exitOf, ready, run, stopOrphan } from './embedded-processes.ts';

/** The superuser and owner of the database, and the database's name. */
const owner = 'platform';
const LOG_BYTES_MAX = 10 * 1024 * 1024;
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
  /** With false, a power failure may lose all data. For tests. */
  readonly durable?: boolean;
  /** Free disk space required to create the data; a server with existing data always starts. */
  readonly keepsFreeBytes?: number;
  /** Called when the server died, whether it can be restarted or not. */
  readonly onTrouble?: (message: string, details: Readonly<Record<string, unknown>>) => void;
  /** Aborts the start: its processes are ended, and it rejects. After the start has resolved, use `stop`. */
  readonly signal?: AbortSignal;
}

/** Location and settings of a server. */
interface Place {
  /** Folder of the programs. */
  readonly bin: string;
  readonly folder: string;
  /** A path as the server sees it. */
  readonly own: (file: string) => string;
  readonly seen: Seen;
  readonly dataFolder: string;
  readonly user: RunAs | null;
  readonly log: string;
  readonly durable: boolean;
  readonly signal: AbortSignal;
}

/**
 * Starts the server, creating its data on the first run (about a second); it is restarted whenever it dies.
 *
 * @throws {Error} with the end of the server's log when the server does not start.
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
  const dataFolder = dataFolderOf(folder, version.split('.')[0]!);
  const giveUp = new AbortController();
  const forward = (): void => giveUp.abort();
  options.signal?.throwIfAborted();
  options.signal?.addEventListener('abort', forward);
  const own = (file: string): string => (seen.fd === null ? file : path.join(seen.folder, path.relative(folder, file)));
  const place: Place = {
    bin,
    folder,
    own,
    seen,
    dataFolder,
    user,
    log: path.join(folder, 'postgres.log'),
    durable: options.durable !== false,
    signal: giveUp.signal,
  };
  await stopOrphan(dataFolder, own(dataFolder));
  if (!existsSync(dataFolder)) {
    checkSpace(folder, options.keepsFreeBytes ?? 0);
    await initialize(place, password);
  }
  const server = await keepServer(place, sockets, options.onTrouble);
  options.signal?.removeEventListener('abort', forward);
  return {
    url: urlOf(password, sockets),
    get pid() {
      return server.pid();
    },
    stop: server.stop,
  };
}

/** @throws {Error} when the folder has data of another version of Postgres. */
function dataFolderOf(folder: string, major: string): string {
  const other = readdirSync(folder).find((name) => /^data-\d+$/.test(name));
  if (other !== undefined && other !== `data-${major}`) {
    throw new Error(
      `${folder} holds data of Postgres ${other.slice(5)}, but this version of the platform includes Postgres ${major}. ` +
        'Start the version that wrote it and create a backup, or move the folder away to start with an empty one',
    );
  }
  return path.join(folder, `data-${major}`);
}

/** Starts the server, and restarts it whenever it dies. */
async function keepServer(
  { bin, folder, own, seen, dataFolder, user, log, durable, signal }: Place,
  sockets: string,
  onTrouble: EmbeddedOptions['onTrouble'],
): Promise<{ pid(): number; stop(): Promise<void> }> {
  const settings: Record<string, string> = {
    listen_addresses: '',
    unix_socket_directories: sockets.startsWith(`${folder}${path.sep}`) ? own(sockets) : sockets,
    unix_socket_permissions: '0700',
    max_connections: '200',
    shared_buffers: '128MB',
    jit: 'off',
    log_min_messages: 'warning',
    autovacuum_naptime: '15s',
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  const words = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  let child: ChildProcess;
  let stopping: Promise<void> | null = null;
  let deaths = 0;

  async function start(): Promise<void> {
    if (existsSync(log) && statSync(log).size > LOG_BYTES_MAX) renameSync(log, `${log}.1`);
    const began = performance.now();
    child = run(path.join(bin, 'postgres'), ['-D', own(dataFolder), ...words], { user, log, seen, signal });
    await ready(child, dataFolder, log);
    void exitOf(child).then((code) => {
      if (stopping !== null || signal.aborted) return;
      deaths = performance.now() - began > 60_000 ? 1 : deaths + 1;
      onTrouble?.('Embedded Postgres exited: restarting', { code, deaths });
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
        onTrouble?.('The embedded Postgres does not start', { reason: (error as Error).message });
      }
    }
  }

  async function stop(): Promise<void> {
    if (child.exitCode === null && child.signalCode === null) await end(child);
    if (seen.fd !== null) closeSync(seen.fd);
  }

  await start();
  return { pid: () => child.pid!, stop: () => (stopping ??= stop()) };
}

function urlOf(password: string, sockets: string): string {
  const url = new URL(`postgres://${owner}:${password}@localhost/${owner}`);
  url.searchParams.set('host', sockets);
  return url.href;
}

/**
 * The address of a folder's server, from its files.
 *
 * @returns null if the folder has no data yet; `isRunning` is false if no server has its socket there.
 */
export function findEmbeddedPostgres(given: string): { readonly url: string; readonly isRunning: boolean } | null {
  const folder = path.resolve(given);
  if (!existsSync(folder) || !readdirSync(folder).some((name) => /^data-\d+$/.test(name))) return null;
  const sockets = socketPath(folder);
  return { url: urlOf(passwordOf(folder), sockets), isRunning: existsSync(path.join(sockets, '.s.PGSQL.5432')) };
}

/** Creates the data and the database of the owner. */
async function initialize(place: Place, password: string): Promise<void> {
  const { bin, folder, own, seen, dataFolder, user, log, durable, signal } = place;
  // Created under another name and renamed when complete, so that an interrupted first start leaves no folder that
  // looks complete.
  const unfinished = `${dataFolder}.unfinished`;
  const passwordFile = path.join(folder, 'initial-password');
  rmSync(unfinished, { recursive: true, force: true });
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (user !== null) chownSync(passwordFile, user.uid, user.gid);
  const args = `-U ${owner} --auth=scram-sha-256 --no-locale -E UTF8`.split(' ');
  const child = run(
    path.join(bin, 'initdb'),
    ['-D', own(unfinished), `--pwfile=${own(passwordFile)}`, ...args, ...(durable ? [] : ['--no-sync'])],
    { user, log, seen, signal },
  );
  const code = await exitOf(child);
  rmSync(passwordFile, { force: true });
  if (code !== 0)
    throw new Error(`The data of the embedded Postgres cannot be created (initdb: ${code}):\n${endOf(log)}`);
  // The owner's database must exist before the first connection: the single-user mode needs no password and no
  // socket.
  const single = run(path.join(bin, 'postgres'), ['--single', '-D', own(unfinished), 'postgres'], {
    user,
    log,
    seen,
    signal,
    input: `CREATE DATABASE ${owner}\n`,
  });
  const created = await exitOf(single);
  if (created !== 0)
    throw new Error(`The database of the embedded Postgres cannot be created (${created}):\n${endOf(log)}`);
  renameSync(unfinished, dataFolder);
}
