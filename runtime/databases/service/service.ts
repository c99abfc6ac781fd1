// The parent of the shards: starts and replaces them, tells engines which shard owns a database and why a shard ended,
// and accepts engines on other machines. Runs no SQL and opens no database, so no tenant can stop it.
import { createHash, timingSafeEqual } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import type { DatabaseLimits } from '#core/limits.ts';
import { SqlRefusal } from '#core/database-request.ts';
import type { ErrorCode } from '#core/errors.ts';
import type { Homes } from '../homes/homes.ts';
import type { HomesOptions } from '../homes/homes-options.ts';
import { isDatabaseName, projectOf } from '../protocol/database-name.ts';
import { answerFrame, FrameReader, kinds, ops, readRequest, requestFrame, type Verdict } from '../protocol/frames.ts';
import { LONG_AGO } from '../protocol/lease-clock.ts';
import { answerService, holdIn } from './home-questions.ts';
import { Imports } from './imports.ts';
import { keptBytes, sweepNamespace } from './kept-bytes.ts';
import { Replication } from './replication.ts';
import type { ReplicaFigures } from '../protocol/replicator-messages.ts';
import { Routes } from './routes.ts';
import { ShardProcess } from './shard-process.ts';

export interface DatabaseServiceOptions {
  /** Folder of the files: `<directory>/<namespace>/<resource>.sqlite`. */
  readonly directory: string;
  readonly limits: DatabaseLimits;
  /** Number of processes that share the projects. */
  readonly shards: number;
  readonly synchronous: 'normal' | 'full';
  /** `FS_PATH`: contains the organizations' remaining storage; null means no limit. */
  readonly dataFolder?: string | null;
  /** TCP options for engines on other machines. */
  readonly tcp?: TcpOptions;
  /** Private folder of the sockets, the same after a restart, with a short path; by default a new folder. */
  readonly socketFolder?: string;
  /** Variables of the replicator (replica/settings.ts); if absent, nothing is replicated. */
  readonly replica?: Readonly<Record<string, string>>;
  /** Set if other services can be homes of projects, too; if absent, this service has all databases. Needs `tcp`. */
  readonly homes?: HomesOptions;
  /** Writes are acknowledged when the replica has stored them. Needs `replica`. */
  readonly confirms?: boolean;
  /** Reports a message for the operator. */
  report(message: string): void;
}

export interface TcpOptions {
  readonly host: string;
  readonly port: number;
  /** Token that an engine must send first. */
  readonly token: string;
  /** PEM. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

/** The running service. */
export interface DatabaseService {
  readonly socketPath: string;
  /** Port of the TCP listener, or null. */
  readonly port: number | null;
  /** Process ids of running shards. */
  pids(): number[];
  /** Process ids of the replicator. */
  replicatorPids(): number[];
  /** Status of replication; null if nothing is replicated. */
  replica(): ReplicaFigures | null;
  /** Called when Postgres is ready, with the URL for the tables of bindings. */
  usePostgres(url: string): void;
  close(): Promise<void>;
}

const FRAME_BYTES_MAX = 64 * 1024;
const RELEASE_EVERY_MS = 30_000;

/** Starts the service; its processes start on demand. @throws {Error} when a folder or port cannot be used. */
export async function startDatabaseService(options: DatabaseServiceOptions): Promise<DatabaseService> {
  const { directory, limits, synchronous, report, dataFolder = null } = options;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  // A socket's path has at most 107 bytes.
  const folder = options.socketFolder ?? mkdtempSync(path.join(tmpdir(), 'platform-db-'));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const routes = new Routes(options.shards, limits.ownProcessesMax, limits.probationMs);
  const replication =
    options.replica === undefined
      ? null
      : new Replication({
          directory,
          dataFolder,
          limits,
          variables: options.replica,
          isShared: options.homes !== undefined,
          report,
        });
  let homes: Homes | null = null;
  const start = (index: number, limitMs: number): ShardProcess =>
    new ShardProcess({
      folder,
      report,
      changed: (name) => replication?.changed(name),
      lease: () => (homes === null ? (options.homes === undefined ? null : LONG_AGO) : homes.until),
      confirm: async (name) => replication?.confirm(name),
      options: {
        confirms: options.confirms === true,
        reportsChanges: replication !== null,
        directory,
        dataFolder,
        limits,
        synchronous,
        shard: index,
        limitMs,
        isOwn: index >= options.shards,
      },
    });
  const shared = Array.from({ length: options.shards }, (_, index) => start(index, limits.sharedStatementMs));
  const own = new Map<number, ShardProcess>();
  const imports = new Imports({
    directory,
    dataFolder,
    limits,
    synchronous,
    report,
    changed: (name) => replication?.changed(name),
  });

  const shardOf = (name: string): ShardProcess => {
    const { kind, index } = routes.homeOf(name);
    if (kind === 'shared') return shared[index] as ShardProcess;
    let shard = own.get(index);
    if (shard === undefined) own.set(index, (shard = start(options.shards + index, limits.statementMs)));
    return shard;
  };
  const allShards = (): ShardProcess[] => [...shared, ...own.values()];

  const verdictOf = async (shardName: string, key: number, names: readonly string[]): Promise<Verdict> => {
    const shard = allShards().find((candidate) => candidate.knows(shardName));
    const ended = shard === undefined ? null : await shard.endOf(shardName);
    if (ended === 'alive')
      return { alive: true, blamed: null, reason: null, limitMs: 0, again: false, applied: 0, begun: null };
    if (ended === null || ended === undefined) {
      // Every engine reports the databases of its pending requests; a database that is reported for two deaths is a
      // suspect.
      routes.died(names.filter(isDatabaseName), Date.now());
      return { alive: false, blamed: null, reason: null, limitMs: 0, again: false, applied: 0, begun: null };
    }
    const begun = ended.begun.find(([candidate]) => candidate === key)?.[1] ?? null;
    const isBlamed = ended.running !== null && ended.running[0] === key && ended.reason !== 'stopped';
    return {
      alive: false,
      blamed: isBlamed ? (ended.running as readonly [number, number])[1] : null,
      reason: ended.reason === 'stopped' ? null : ended.reason,
      limitMs: ended.limitMs,
      again: ended.reason === 'time' && ended.limitMs < limits.statementMs,
      applied: isBlamed ? ended.applied : 0,
      begun,
    };
  };
  const onEnd = (database: string): void => routes.suspect(database, Date.now());
  for (const shard of shared) shard.onOverrun = onEnd;

  const timer = setInterval(() => {
    for (const index of routes.release(Date.now())) {
      void own.get(index)?.close();
      own.delete(index);
    }
  }, RELEASE_EVERY_MS);
  timer.unref();

  /** Serves a connection whose first frame is a greeting; `isTrusted` needs no token. */
  const serve = (socket: Socket, isTrusted: boolean): void => {
    const reader = new FrameReader(FRAME_BYTES_MAX);
    let greeted = isTrusted;
    let passedOn = false;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    const onData = (chunk: Buffer): void => {
      try {
        reader.push(chunk, (frame) => {
          if (passedOn) throw new RangeError('No frame may follow a greeting before the reply');
          const request = readRequest(frame);
          const args = JSON.parse(request.payload.toString('utf8')) as Record<string, unknown>;
          if (request.op === ops.hello) {
            const { token, shard, key } = args;
            if (!isTrusted && !isSameText(token, options.tcp?.token ?? '')) throw new RangeError('The token is wrong');
            greeted = true;
            const peers = homes === null ? {} : { peers: homes.peers };
            if (typeof shard !== 'string') socket.write(answerFrame(request.id, kinds.json, JSON.stringify(peers)));
            else {
              passedOn = true;
              socket.pause();
              socket.off('data', onData);
              void forward(socket, shard, request.id, Number(key));
            }
            return;
          }
          if (!greeted) throw new RangeError('The first frame must be a greeting');
          void answer(request.op, request.name, args).then(
            (value) =>
              socket.write(
                value instanceof Uint8Array
                  ? answerFrame(request.id, kinds.bytes, value)
                  : answerFrame(request.id, kinds.json, JSON.stringify(value)),
              ),
            (error: unknown) =>
              socket.write(
                error instanceof SqlRefusal
                  ? answerFrame(request.id, kinds.json, error.toJson())
                  : answerFrame(request.id, kinds.failure, JSON.stringify(failureOf(error))),
              ),
          );
        });
      } catch {
        // An unauthorized client, or another protocol.
        socket.destroy();
      }
    };
    socket.on('data', onData);
    if (isTrusted) return;
    // A client that sends nothing must not keep a descriptor open.
    const waiting = setTimeout(() => greeted || socket.destroy(), limits.greetingMs);
    socket.on('close', () => clearTimeout(waiting));
  };

  const answer = async (op: number, name: string, args: Record<string, unknown>): Promise<unknown> => {
    if (op === ops.verdict) {
      const names = Array.isArray(args['names'])
        ? args['names'].filter((value) => typeof value === 'string').slice(0, 1000)
        : [];
      return await verdictOf(String(args['shard']), Number(args['key']), names);
    }
    if (op === ops.kept) return keptBytes(directory);
    if (!isDatabaseName(name)) throw new RangeError('this is not a database name');
    const betweenServices = homes === null ? undefined : answerService(homes.moves, op, projectOf(name), args);
    if (betweenServices !== undefined) return await betweenServices;
    if (op === ops.move && homes !== null) return await homes.move(name, args['to']);
    if (op === ops.route) return await route(name);
    const placed = (await homes?.place(name)) ?? 'here';
    if (placed !== 'here') return placed;
    const done = await atHome(op, name, args);
    // The lease has ended, so the new home may not have this change.
    if (homes?.isValid === false) throw new Error('its machine is changing: try again');
    return done;
  };

  /** Returns the shard of a database when the shard may serve it. */
  const route = async (name: string): Promise<unknown> => {
    for (;;) {
      const placed = (await homes?.place(name)) ?? 'here';
      if (placed !== 'here') return placed;
      const shard = shardOf(name);
      shard.onOverrun = onEnd;
      const address = await shard.address();
      if (homes === null || homes.until === null) return address;
      const project = projectOf(name);
      await shard.ask({ type: 'serve', project });
      if (!homes.moves.has(project)) return address;
      shard.tell({ type: 'release', project, isHome: false });
    }
  };

  /** The owner's operations on a database that are not performed by a shard. */
  const atHome = async (op: number, name: string, args: Record<string, unknown>): Promise<unknown> => {
    if (op === ops.import) return imports.ask(name, args);
    if (op === ops.sweep) {
      await sweepNamespace(path.join(directory, name.split('/')[0]!));
      return {};
    }
    if (op === ops.move)
      throw new SqlRefusal('SQLITE_MISUSE', 'this database service has no other machines to move a project to');
    if (op === ops.replica || op === ops.restoreAt) {
      if (replication === null)
        throw new SqlRefusal('SQLITE_CANTOPEN', 'databases are not replicated: no DB_REPLICA_S3_* is set');
      return await (op === ops.replica ? replication.range(name) : replication.restore(name, args));
    }
    throw new RangeError(`there is no operation ${op}`);
  };

  /** Pipes the bytes of a remote engine to a shard from now on. */
  const forward = async (socket: Socket, shardName: string, id: number, key: number): Promise<void> => {
    const shard = allShards().find((candidate) => candidate.knows(shardName));
    const address = await shard?.address().catch(() => null);
    if (address === null || address === undefined || address.shard !== shardName) {
      socket.destroy();
      return;
    }
    const inner = createConnection(address.path);
    inner.on('error', () => socket.destroy());
    inner.on('close', () => socket.destroy());
    socket.on('close', () => inner.destroy());
    inner.write(requestFrame(id, ops.hello, '', 0, JSON.stringify({ key })));
    socket.pipe(inner);
    inner.pipe(socket);
    socket.resume();
  };

  const sockets = new Set<Socket>();
  const servers: Server[] = [];
  const socketPath = path.join(folder, 'service.sock');
  // This file was left behind by a killed service.
  rmSync(socketPath, { force: true });
  try {
    // This runs before a client can create an empty database in place of a replicated one.
    if (options.homes === undefined) await replication?.fill();
    const local = createServer((socket) => serve(socket, true));
    servers.push(local);
    await listening(local, { path: socketPath });
    let port: number | null = null;
    if (options.tcp !== undefined) {
      const { tls, host } = options.tcp;
      const far =
        tls === undefined
          ? createServer((socket) => serve(socket, false))
          : createTlsServer({ ...tls, handshakeTimeout: limits.greetingMs }, (socket) => serve(socket, false));
      servers.push(far);
      await listening(far, { host, port: options.tcp.port });
      port = (far.address() as { port: number }).port;
      if (options.homes !== undefined) homes = await openHomes(options.homes, options.tcp, port);
    }
    return {
      socketPath,
      port,
      pids: () => allShards().flatMap((shard) => shard.pid ?? []),
      replicatorPids: () => replication?.pid ?? [],
      replica: () => replication?.figures ?? null,
      usePostgres(url) {
        replication?.usePostgres(url);
        homes?.usePostgres(url);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }

  async function openHomes(of: HomesOptions, tcp: TcpOptions, port: number): Promise<Homes> {
    const { startHomes } = await import('../homes/homes.ts');
    return startHomes({
      ...of,
      address: `${tcp.tls === undefined ? 'tcp' : 'tls'}://${of.address}:${port}`,
      token: tcp.token,
      directory,
      limits,
      replication,
      shards: {
        tell: (request) => allShards().forEach((shard) => shard.tell(request)),
        hold: (project, msMax) => holdIn(allShards(), project, msMax),
        isImporting: (project) => imports.isRunning(project),
        endImports: (why) => imports.endAll(why),
      },
      report,
    });
  }

  async function close(): Promise<void> {
    clearInterval(timer);
    for (const server of servers) server.close();
    for (const socket of sockets) socket.destroy();
    await Promise.all([imports.close(), ...allShards().map((shard) => shard.close())]);
    await replication?.close();
    await homes?.close();
    if (options.socketFolder === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

function listening(server: Server, at: { path: string } | { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(at, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function isSameText(given: unknown, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return typeof given === 'string' && expected !== '' && timingSafeEqual(digest(given), digest(expected));
}

function failureOf(error: unknown): [ErrorCode, Record<string, string>] {
  return ['database_unavailable', { reason: error instanceof Error ? error.message : String(error) }];
}
