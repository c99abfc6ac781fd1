// The client of the database service: finds the process that owns a database, and handles requests whose process
// ended: they are retried if nothing can happen twice, and otherwise fail with a clear error.
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { type DatabaseLimits, defaultLimits } from '#core/limits.ts';
import { SqlRefusal } from '#core/database-request.ts';
import { PlatformError } from '#core/errors.ts';
import type { SlowStatement } from '#core/resource-call/databases.ts';
import type { DatabaseStore, StatementOwner } from '../engine/bindings/database.ts';
import type { DatabasePlace } from '../engine/bindings/scope.ts';
import { ops, type ImportState, type KnownMigrations, type Verdict } from '../databases/protocol/frames.ts';
import { DatabaseLink, type Sent } from './database-link.ts';

/** Address of the service. */
type DatabaseAddress =
  | { readonly socketPath: string }
  | { readonly host: string; readonly port: number; readonly token: string; readonly tls?: { readonly ca?: string } };

/**
 * The service's address in an environment: `DB_URL` (`tcp://host:port` or `tls://host:port`, with
 * `DB_SERVICE_TOKEN`), or the sockets in `DB_SERVICE_SOCKETS`; null if neither is set.
 *
 * @throws {Error} naming the invalid variable.
 */
export function databaseAddress(environment: Readonly<Record<string, string | undefined>>): DatabaseAddress | null {
  const url = environment['DB_URL'] ?? '';
  if (url === '') {
    const folder = environment['DB_SERVICE_SOCKETS'] ?? '';
    return folder === '' ? null : { socketPath: join(folder, 'service.sock') };
  }
  const match = /^(tcp|tls):\/\/(\[[0-9a-f:.]+\]|[a-z0-9.-]+):(\d{1,5})\/?$/i.exec(url);
  if (match === null) throw new Error(`DB_URL must be tcp://host:port or tls://host:port, but is "${url}"`);
  const token = environment['DB_SERVICE_TOKEN'] ?? '';
  if (token === '') throw new Error('DB_URL needs DB_SERVICE_TOKEN, the secret of that database service');
  const [, scheme, host = '', port] = match;
  return {
    host: host.replace(/^\[|\]$/g, ''),
    port: Number(port),
    token,
    ...(scheme?.toLowerCase() === 'tls' ? { tls: {} } : {}),
  };
}

/** A database, from its file. */
interface StoredDatabase {
  readonly resource: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
}

/** Operations of a database's owner, besides {@link DatabaseStore}. */
export interface DatabaseOwner {
  /** Applies pending migrations; `files` are names and SQL. @returns the names applied now. */
  migrate(place: DatabasePlace, files: readonly (readonly [name: string, sql: string])[]): Promise<string[]>;
  /** Copies the database to a file of the service's machine, while it is in use. */
  backup(place: DatabasePlace, file: string): Promise<{ bytes: number }>;
  /** Which of these migrations were applied; creates no database. @throws {PlatformError} `migration_changed`. */
  migrations(place: DatabasePlace, files: readonly (readonly [name: string, sql: string])[]): Promise<KnownMigrations>;
  /**
   * Imports a file of the service's machine, SQL or a SQLite file, into the database, all or nothing; continues after
   * the response.
   *
   * @param what.id identifies the import; without `file` only its progress is returned.
   * @param what.replace existing content is deleted first.
   * @param what.waitMs how long the response may wait for the end.
   * @throws {SqlRefusal} when too many are running, and in a managed cloud.
   */
  import(
    place: DatabasePlace,
    what: {
      readonly id: string;
      readonly file?: string;
      readonly replace?: boolean;
      readonly cancel?: boolean;
      readonly waitMs?: number;
    },
  ): Promise<ImportState>;
  /** Replaces the database by a backup. */
  restore(place: DatabasePlace, file: string): Promise<void>;
  /**
   * Replaces it by a copy of another database of the same namespace.
   *
   * @param keepAs the replaced one, with all that was committed, becomes a database of this name.
   */
  restoreFrom(place: DatabasePlace, resource: string, keepAs?: string): Promise<void>;
  /** Which moments its replica has, in milliseconds since 1970; null: none. @throws {SqlRefusal} without replicas. */
  replica(place: DatabasePlace): Promise<{ range: { oldest: number; newest: number } | null }>;
  /**
   * A new database of the same namespace with the content of a moment.
   *
   * @returns its size, and the moment of the latest change in it.
   * @throws {SqlRefusal} when the replica does not have that moment.
   */
  restoreAt(place: DatabasePlace, at: number, resource: string): Promise<{ bytes: number; time: number }>;
  /** The databases of a namespace. @throws {SqlRefusal} where the databases are in a managed cloud. */
  list(namespace: string, after?: string): Promise<readonly StoredDatabase[]>;
  /**
   * A new database with the same content; `shared` when the file system shares the blocks.
   *
   * @param options.unlessThere an existing one is kept, and `made` is false.
   */
  branch(
    place: DatabasePlace,
    resource: string,
    options?: { readonly unlessThere?: boolean },
  ): Promise<{ bytes: number; shared: boolean; made: boolean }>;
  /** @returns whether there was one. */
  remove(place: DatabasePlace): Promise<boolean>;
  describe(place: DatabasePlace): Promise<{ bytes: number; path: string }>;
  /** Bytes of all files by namespace, including branches and snapshots; null in a managed cloud. */
  kept(): Promise<Readonly<Record<string, number>> | null>;
  /** Deletes the files of a namespace that are no databases, such as damaged ones that were set aside. */
  sweep(namespace: string): Promise<void>;
  /** Its slow statements since it was opened, longest total duration first. */
  slow(place: DatabasePlace): Promise<readonly SlowStatement[]>;
}

export interface DatabaseClient extends DatabaseStore, DatabaseOwner {
  close(): void;
}

const ATTEMPTS_MAX = 3;
/** Minimum cost of a statement. */
const LEAST_MS = 0.01;
const CONNECT_MS = 5000;
const ROUTES_KEPT = 10_000;
/** What they have not completed is rolled back when their process ends: scripts continue after what is applied. */
const repeatable = new Set<number>([ops.query, ops.batch, ops.exec, ops.begin, ops.migrate]);
const readOnly = /^\s*(?:(?:select|values|explain)\b|with\b(?![^]*\b(?:insert|update|delete|replace)\b))/i;

/** Connects on first use, and again after the service was replaced. */
export function createDatabaseClient(
  address: DatabaseAddress,
  limits: DatabaseLimits = defaultLimits.database,
): DatabaseClient {
  const linkLimits = {
    inFlightMax: limits.inFlightMax,
    // JSON of a result may be several times larger than its content.
    answerBytesMax: 1024 + Math.max(4 * limits.resultBytesMax, limits.dumpBytesMax),
  };
  const routes = new Map<string, DatabaseLink>();
  const finding = new Map<string, Promise<DatabaseLink>>();
  const links = new Map<string, Promise<DatabaseLink>>();
  const sockets = new Set<Socket>();
  let control: Promise<DatabaseLink> | null = null;
  let closed = false;

  async function open(
    path: string | null,
    shard: string | null,
    onLost: (link: DatabaseLink, unanswered: Sent[]) => void,
  ): Promise<DatabaseLink> {
    const socket = await connected(path);
    const link: DatabaseLink = new DatabaseLink(socket, linkLimits, (unanswered) => onLost(link, unanswered));
    if ('socketPath' in address) await link.greet({});
    else await link.greet({ token: address.token, ...(shard === null ? {} : { shard }) });
    return link;
  }

  async function connected(path: string | null): Promise<Socket> {
    const until = performance.now() + CONNECT_MS;
    for (;;) {
      if (closed) throw new PlatformError('database_unavailable', { reason: 'its client is closed' });
      try {
        const socket = await connectOnce(path);
        sockets.add(socket);
        socket.on('close', () => sockets.delete(socket));
        return socket;
      } catch {
        // A service that is being replaced returns within a moment.
        if (path !== null || performance.now() > until)
          throw new PlatformError('database_unavailable', { reason: 'the service does not answer' });
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  function connectOnce(path: string | null): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket =
        'socketPath' in address
          ? createConnection(path ?? address.socketPath)
          : address.tls === undefined
            ? createConnection(address.port, address.host)
            : connectTls({ port: address.port, host: address.host, ...address.tls });
      socket.once('error', reject);
      const ready = (): void => {
        socket.off('error', reject);
        resolve(socket);
      };
      socket.once('socketPath' in address || address.tls === undefined ? 'connect' : 'secureConnect', ready);
    });
  }

  function controlLink(): Promise<DatabaseLink> {
    control ??= open(null, null, (_link, unanswered) => {
      control = null;
      for (const request of unanswered)
        request.reject(new PlatformError('database_unavailable', { reason: 'the service ended' }));
    }).catch((error: unknown) => {
      control = null;
      throw error;
    });
    return control;
  }

  async function ask<Answer>(op: number, name: string, args: unknown, attempts = ATTEMPTS_MAX): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      try {
        const link = await controlLink();
        return JSON.parse((await link.request(op, name, 0, JSON.stringify(args))) as string) as Answer;
      } catch (error) {
        if (attempt >= attempts || closed) throw error;
      }
    }
  }

  /** As `ask`; it may refuse. */
  async function askRefusable<Answer>(op: number, name: string, args: unknown, attempts = 1): Promise<Answer> {
    const answer = await ask<Answer & { e?: [string, string] }>(op, name, args, attempts);
    if (answer.e !== undefined) throw new SqlRefusal(answer.e[0], answer.e[1]);
    return answer;
  }

  async function find(name: string): Promise<DatabaseLink> {
    for (let attempt = 1; ; attempt++) {
      const { shard, path } = await ask<{ shard: string; path: string }>(ops.route, name, {});
      let link = links.get(shard);
      if (link === undefined) {
        link = open(path, shard, (gone, unanswered) => void lost(shard, gone, unanswered));
        links.set(shard, link);
        link.catch(() => links.delete(shard));
      }
      try {
        const found = await link;
        if (routes.size >= ROUTES_KEPT) routes.clear();
        routes.set(name, found);
        return found;
      } catch (error) {
        // It ended between the response and the connection.
        if (attempt === ATTEMPTS_MAX) throw error;
      }
    }
  }

  function linkOf(name: string): DatabaseLink | Promise<DatabaseLink> {
    const link = routes.get(name);
    if (link?.isOpen === true) return link;
    let found = finding.get(name);
    if (found === undefined) {
      found = find(name).finally(() => finding.delete(name));
      finding.set(name, found);
    }
    return found;
  }

  function send(request: Sent): void {
    const link = linkOf(request.name);
    if (link instanceof DatabaseLink) link.send(request);
    else
      link.then(
        (found) => (found.isOpen ? found.send(request) : send(request)),
        (error: unknown) => request.reject(error),
      );
  }

  async function lost(shard: string, gone: DatabaseLink, unanswered: readonly Sent[]): Promise<void> {
    links.delete(shard);
    for (const [name, link] of routes) if (link === gone) routes.delete(name);
    if (unanswered.length === 0) return;
    const names = [...new Set(unanswered.map(({ name }) => name))];
    let verdict: Verdict | null = null;
    try {
      verdict = await ask<Verdict>(ops.verdict, '', { shard, key: gone.key, names });
    } catch {
      // The service itself is gone: the outcome is unknown.
    }
    for (const request of unanswered) {
      // If a process is ended because of a statement, the CPU it used is not reported.
      if (verdict?.blamed === request.id && verdict.reason === 'time') request.owner?.settleCpu(0, verdict.limitMs);
      const answer = fate(request, verdict);
      if (answer !== 'again') request.resolve(answer);
      else if (closed) request.reject(new PlatformError('database_unavailable', { reason: 'its client is closed' }));
      else {
        if (request.op === ops.exec && verdict?.blamed === request.id)
          request.payload = JSON.stringify([(JSON.parse(request.payload) as unknown[])[0], verdict.applied]);
        request.attempts++;
        send(request);
      }
    }
  }

  function run(
    { namespace, resource }: DatabasePlace,
    op: number,
    transaction: number,
    payload: string,
    owner?: StatementOwner,
  ): Promise<string | Uint8Array> {
    if (payload.length * 3 > limits.requestBytesMax && Buffer.byteLength(payload) > limits.requestBytesMax) {
      const message = `the request exceeds ${limits.requestBytesMax} bytes`;
      return Promise.resolve(new SqlRefusal('SQLITE_TOOBIG', message).toJson());
    }
    // Nothing is started for an invocation without budget; the cost is in the response.
    owner?.reserveCpu(LEAST_MS);
    owner?.settleCpu(LEAST_MS, 0);
    return new Promise((resolve, reject) => {
      send({ id: 0, op, name: `${namespace}/${resource}`, transaction, payload, attempts: 0, owner, resolve, reject });
    });
  }

  async function own<Answer>(place: DatabasePlace, op: number, args: unknown): Promise<Answer> {
    const answer = JSON.parse((await run(place, op, 0, JSON.stringify(args))) as string) as Answer & {
      e?: [string, string];
    };
    if (answer.e !== undefined) throw new SqlRefusal(answer.e[0], answer.e[1]);
    return answer;
  }

  return {
    run,
    async migrate(place, files) {
      return (await own<{ applied: string[] }>(place, ops.migrate, files)).applied;
    },
    migrations: (place, files) => own(place, ops.migrations, files),
    backup: (place, file) => own(place, ops.backup, [file]),
    async import({ namespace, resource }, what) {
      // A restarted service does not know that it had been started.
      const attempts = what.file === undefined ? ATTEMPTS_MAX : 1;
      return askRefusable<ImportState>(ops.import, `${namespace}/${resource}`, what, attempts);
    },
    async restore(place, file) {
      await own(place, ops.restore, [file]);
    },
    async restoreFrom(place, resource, keepAs) {
      await own(place, ops.restore, keepAs === undefined ? [resource, true] : [resource, true, keepAs]);
    },
    replica: ({ namespace, resource }) => askRefusable(ops.replica, `${namespace}/${resource}`, {}),
    restoreAt: ({ namespace, resource }, at, copy) =>
      askRefusable(ops.restoreAt, `${namespace}/${resource}`, { at, resource: copy }),
    async list(namespace, after) {
      const { databases } = await own<{ databases: StoredDatabase[] }>(
        { namespace, resource: 'any' },
        ops.siblings,
        after === undefined ? [] : [after],
      );
      return databases;
    },
    branch: (place, resource, { unlessThere = false } = {}) =>
      own(place, ops.branch, [`${place.namespace}/${resource}`, unlessThere]),
    async remove(place) {
      return (await own<{ removed?: boolean }>(place, ops.remove, [])).removed === true;
    },
    describe: (place) => own(place, ops.describe, []),
    kept: () => ask(ops.kept, '', {}),
    async sweep(namespace) {
      await ask(ops.sweep, `${namespace}/any`, {});
    },
    slow: async (place) => (await own<{ statements: SlowStatement[] }>(place, ops.slow, [])).statements,
    close() {
      closed = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** `again`, or the error of a request whose process ended. */
function fate(request: Sent, verdict: Verdict | null): string {
  const { id, op, transaction, payload } = request;
  if (transaction !== 0) {
    const neverBegun = verdict?.begun != null && id > verdict.begun;
    const what = op === ops.commit && !neverBegun ? 'may or may not have been committed' : 'was rolled back';
    return new SqlRefusal('SQLITE_ABORT', `the transaction ${what}: the database process ended`).toJson();
  }
  if (verdict?.blamed === id) {
    if (verdict.again && request.owner?.isOver !== true && repeatable.has(op) && request.attempts < ATTEMPTS_MAX)
      return 'again';
    if (verdict.reason === 'memory')
      return new SqlRefusal('SQLITE_NOMEM', 'the statement took too much memory and was ended').toJson();
    return new SqlRefusal(
      'SQLITE_INTERRUPT',
      `the statement ran longer than ${verdict.limitMs} ms and was ended`,
    ).toJson();
  }
  if (request.attempts < ATTEMPTS_MAX) {
    if (verdict?.begun != null && id > verdict.begun) return 'again';
    // An orphaned interactive transaction is rolled back with its connection.
    if (op === ops.pending || op === ops.dequeue || op === ops.migrations || op === ops.siblings) return 'again';
    if (
      op === ops.begin ||
      op === ops.describe ||
      op === ops.look ||
      op === ops.slow ||
      op === ops.dump ||
      op === ops.migrate
    )
      return 'again';
    if (op === ops.query && isReadOnly(payload)) return 'again';
  }
  return new SqlRefusal(
    'SQLITE_INTERRUPT',
    'the database process ended: the statement may or may not have been applied',
  ).toJson();
}

function isReadOnly(payload: string): boolean {
  try {
    return readOnly.test(String((JSON.parse(payload) as unknown[])[0]));
  } catch {
    return false;
  }
}
