// The database service over a libSQL cloud: engines use the same frames, and the cloud's tokens stay in this process,
// out of reach of tenant code in engines. Started by main.ts.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { DatabaseLimits } from '#core/limits.ts';
import { SqlRefusal } from '#core/database-request.ts';
import { isErrorCode } from '#core/errors.ts';
import { isDatabaseName } from '../protocol/database-name.ts';
import { importByRequests } from '../import/import-by-requests.ts';
import { answerFrame, FrameReader, kinds, ops, readRequest, unknownImport, type Verdict } from '../protocol/frames.ts';

interface Place {
  readonly namespace: string;
  readonly resource: string;
}

/** The store behind this service: `createDatabaseCloud` of runtime/stores/database-cloud.ts. */
interface CloudDatabases {
  run(place: Place, op: number, transaction: number, payload: string): Promise<string | Uint8Array>;
  migrate(place: Place, files: readonly (readonly [string, string])[]): Promise<string[]>;
  migrations(place: Place, files: readonly (readonly [string, string])[]): Promise<object>;
  backup(place: Place, file: string): Promise<{ bytes: number }>;
  branch(
    place: Place,
    resource: string,
    options: { unlessThere: boolean },
  ): Promise<{ bytes: number; shared: boolean; made: boolean }>;
  remove(place: Place): Promise<boolean>;
  close(): void;
}

interface CloudServiceOptions {
  readonly databases: CloudDatabases;
  readonly limits: DatabaseLimits;
  /** The same option as in service.ts. */
  readonly socketFolder?: string;
  report(message: string): void;
}

/** Starts the service. */
export async function startCloudService({
  databases,
  limits,
  socketFolder,
  report,
}: CloudServiceOptions): Promise<{ socketPath: string; close(): Promise<void> }> {
  const folder = socketFolder ?? mkdtempSync(path.join(tmpdir(), 'platform-db-'));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const socketPath = path.join(folder, 'service.sock');
  rmSync(socketPath, { force: true });
  const sockets = new Set<Socket>();

  async function answer(op: number, name: string, transaction: number, payload: string): Promise<string | Uint8Array> {
    if (op === ops.hello) return '{}';
    if (op === ops.kept) return 'null';
    if (op === ops.route) return JSON.stringify({ shard: 'cloud', path: socketPath });
    if (op === ops.verdict)
      return JSON.stringify({
        alive: true,
        blamed: null,
        reason: null,
        limitMs: 0,
        again: false,
        applied: 0,
        begun: null,
      } satisfies Verdict);
    if (!isDatabaseName(name)) throw new SqlRefusal('SQLITE_CANTOPEN', 'this is not a database name');
    const [namespace, resource] = name.split('/') as [string, string];
    const place = { namespace, resource };
    if (op < ops.migrate) return databases.run(place, op, transaction, payload);
    if (op === ops.import) {
      const { file, replace } = JSON.parse(payload) as { file?: unknown; replace?: unknown };
      // The transaction has ended when the response is sent, because no state is kept.
      if (typeof file !== 'string') return JSON.stringify(unknownImport);
      const run = (which: number, within: number, given: string): Promise<string | Uint8Array> =>
        databases.run(place, which, within, given);
      return JSON.stringify(await importByRequests(run, file, replace === true, limits));
    }
    const args = JSON.parse(payload) as unknown[];
    switch (op) {
      case ops.migrate:
        return JSON.stringify({ applied: await databases.migrate(place, args as [string, string][]) });
      case ops.migrations:
        return JSON.stringify(await databases.migrations(place, args as [string, string][]));
      case ops.backup:
        return JSON.stringify(await databases.backup(place, String(args[0])));
      case ops.branch:
        return JSON.stringify(
          await databases.branch(place, String(args[0]).split('/')[1] ?? '', { unlessThere: args[1] === true }),
        );
      case ops.remove:
        return JSON.stringify({ removed: await databases.remove(place) });
      default:
        throw new SqlRefusal('SQLITE_MISUSE', 'a managed database cloud does not offer this operation');
    }
  }

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    const reader = new FrameReader(limits.requestBytesMax + 1024);
    const send = (id: number, kind: number, payload: string | Uint8Array): void =>
      void socket.write(answerFrame(id, kind, payload));
    socket.on('data', (chunk: Buffer) => {
      try {
        reader.push(chunk, (frame) => {
          const { id, op, name, transaction, payload } = readRequest(frame);
          answer(op, name, transaction, payload.toString('utf8')).then(
            (result) => send(id, typeof result === 'string' ? kinds.json : kinds.bytes, result),
            (error: unknown) => {
              if (error instanceof SqlRefusal) send(id, kinds.json, error.toJson());
              else send(id, kinds.failure, failureOf(error, report));
            },
          );
        });
      } catch {
        socket.destroy();
      }
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath, resolve);
  });
  return {
    socketPath,
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      databases.close();
      if (socketFolder === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

function failureOf(error: unknown, report: (message: string) => void): string {
  const { code, details, message } = (error ?? {}) as { code?: unknown; details?: unknown; message?: unknown };
  if (isErrorCode(code)) return JSON.stringify([code, details]);
  report(`a request failed: ${String(message)}`);
  return '["internal",{}]';
}
