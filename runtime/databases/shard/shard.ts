// Root of a shard: the process that owns the files of some projects and runs their SQL. Started and ended by
// service.ts; its own watchdog ends it when a statement takes too long. Reads no environment: everything is in its
// argument.
import { statfsSync, writeSync } from 'node:fs';
import path from 'node:path';
import { createServer, type Server } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import type { DatabaseLimits } from '#core/limits.ts';
import { FreeSpace } from '#core/process/free-space.ts';
import { StorageGuard } from '#core/storage-left.ts';
import { isDatabaseName } from '../protocol/database-name.ts';
import type { ShardMessage, ShardRequest } from '../protocol/shard-messages.ts';
import { Confirmations } from './confirmations.ts';
import { HomeGuard } from './home-guard.ts';
import { OpenFiles } from './open-files.ts';
import { field, newMemory, NOTE_FD, noteOf, type ShardNote } from './running.ts';
import { ShardConnection } from './shard-connection.ts';

/** The argument, as JSON. */
export interface ShardOptions {
  readonly socketPath: string;
  readonly directory: string;
  /** Folder with the organizations' remaining storage; null means no limit. */
  readonly dataFolder: string | null;
  readonly limits: DatabaseLimits;
  readonly synchronous: 'normal' | 'full';
  readonly shard: number;
  /** Time limit of a statement. */
  readonly limitMs: number;
  /** The process has a single database, so ending it for one request's budget affects no other database. */
  readonly isOwn: boolean;
  /** Whether the parent process is notified of each changed database. */
  readonly reportsChanges: boolean;
  /** Writes are acknowledged when the replica has stored them. */
  readonly confirms: boolean;
}

const options = JSON.parse(process.argv[2] ?? '') as ShardOptions;

// This version of Node 24 is too old: the fence needs these functions.
const probe = new DatabaseSync(':memory:');
if (typeof probe.setAuthorizer !== 'function' || typeof probe.limits !== 'object') {
  process.stderr.write(
    `databases: the SQLite of Node ${process.version} has no authorizer or no limits: update Node 24\n`,
  );
  process.exit(78);
}
probe.close();

const memory = newMemory();
const view = new Int32Array(memory);
const script = path.join(import.meta.dirname, `watchdog${path.extname(import.meta.filename)}`);
const watchdog = new Worker(script, { workerData: { memory, memoryMb: options.limits.statementMemoryMb } });
watchdog.on('error', (error) => {
  // Without the watchdog, a statement could run without a limit.
  process.stderr.write(`databases: the watchdog failed: ${error.message}\n`);
  process.exit(1);
});

function tell(message: ShardMessage): void {
  process.send?.(message);
}

const confirmations = options.confirms ? new Confirmations((name) => tell({ type: 'confirm', name })) : null;
const files = new OpenFiles({
  limits: options.limits,
  space: new FreeSpace(options.directory, options.limits.diskFreeBytesMin, statfsSync),
  storage: new StorageGuard(options.dataFolder),
  synchronous: options.synchronous,
  shard: options.shard,
  pathOf: (name) => {
    const [namespace, resource] = name.split('/') as [string, string];
    return path.join(options.directory, namespace, `${resource}.sqlite`);
  },
  isName: isDatabaseName,
  opened: (name) => watchdog.postMessage(name),
  report: (message) => tell({ type: 'report', message }),
  changed: (name) => {
    confirmations?.changed(name);
    reportChange(name);
  },
});

/** Databases whose change was reported recently; further changes are not reported yet. */
const reported = new Set<string>();
function reportChange(name: string): void {
  if (!options.reportsChanges || reported.has(name)) return;
  reported.add(name);
  tell({ type: 'changed', message: name });
  setTimeout(() => {
    // Later changes are reported again: a change with the same file time may be newer than the state that was read.
    reported.delete(name);
  }, options.limits.replicaIntervalMs / 2).unref();
}

const connections = new Set<ShardConnection>();
const guard = new HomeGuard({
  isQuiet: (project) => files.isQuiet(project),
  close: (project) => files.close(project),
  lapsed() {
    for (const connection of connections) connection.destroy();
  },
});
process.on('message', (request: ShardRequest) => {
  if (request.type === 'lease') guard.lease(request.until);
  else if (request.type === 'release') guard.release(request.project, request.isHome);
  else if (request.type === 'confirmed') confirmations?.settle(request.name, request.problem);
  else if (request.type === 'serve') {
    guard.serve(request.project);
    tell({ type: 'done', id: request.id, problem: null });
  } else {
    const { id, project, msMax } = request;
    void guard.hold(project, msMax).then((problem) => tell({ type: 'done', id, problem }));
  }
});

const server: Server = createServer((socket) => {
  const place = freePlace();
  if (place === -1) {
    socket.destroy();
    return;
  }
  const connection = new ShardConnection({
    socket,
    place,
    view,
    files,
    guard,
    confirmations,
    limitMs: options.limitMs,
    isOwn: options.isOwn,
    frameBytesMax: options.limits.requestBytesMax + 1024,
  });
  connections.add(connection);
  socket.on('close', () => {
    connections.delete(connection);
    files.leave(connection);
    view[field.connections + 2 * place] = 0;
    taken.delete(place);
  });
});

const taken = new Set<number>();
function freePlace(): number {
  for (let place = 0; place < (view.length - field.connections) / 2; place++) {
    if (taken.has(place)) continue;
    taken.add(place);
    return place;
  }
  return -1;
}

const STOP_MS = 1000;

function stop(): void {
  server.close();
  for (const connection of connections) connection.pause();
  const note: ShardNote = { reason: 'stopped', limitMs: 0, database: null, ...noteOf(view) };
  files.close();
  const sent = [...connections].map((connection) => connection.end());
  try {
    writeSync(NOTE_FD, JSON.stringify(note));
  } catch {
    // The parent has exited, and all requests with it.
  }
  setTimeout(() => process.exit(0), STOP_MS);
  void Promise.all(sent).then(() => process.exit(0));
}

process.on('SIGTERM', stop);
// A terminal's Ctrl-C reaches the whole group; the parent decides.
process.on('SIGINT', () => {});
process.on('disconnect', stop);
server.listen(options.socketPath, () => tell({ type: 'listening' }));
