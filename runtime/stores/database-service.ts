// The client of the database service: finds the process that owns a database, and handles requests whose process has
// ended. Such requests are retried if no effect can happen twice, and otherwise fail with a clear error.
import { join } from 'node:path';
import { type DatabaseLimits, defaultLimits } from '#core/limits.ts';
import { SqlRefusal } from '#core/database-request.ts';
import { PlatformError } from '#core/errors.ts';
import type { SlowStatement } from '#core/resource-call/databases.ts';
import type { DatabaseStore, StatementOwner } from '../engine/bindings/database.ts';
import type { DatabasePlace } from '../engine/bindings/scope.ts';
import { ops, type ImportState, type KnownMigrations, type Verdict } from '../databases/protocol/frames.ts';
import { parseServiceAddress, type DatabaseAddress } from './database-endpoint.ts';
import { DatabaseLink, type Sent } from './database-link.ts';
import { DatabaseRoutes, type FoundShard } from './database-routes.ts';

/** How clients reach the services of an installation. */
interface ServiceAddresses {
  /** The addresses of services, the nearest first; the others are used while it does not respond. */
  readonly addresses: readonly DatabaseAddress[];
  /** The token for services whose address another service returned. */
  readonly token: string;
}

/**
 * The services' addresses in an environment: `DB_URL` (`tcp://host:port` or `tls://host:port`, several separated by
 * commas, with `DB_SERVICE_TOKEN`), or the sockets in `DB_SERVICE_SOCKETS`; null if neither is set.
 *
 * @throws {Error} naming the invalid variable.
 */
export function databaseAddress(environment: Readonly<Record<string, string | undefined>>): ServiceAddresses | null {
  const url = environment['DB_URL'] ?? '';
  const token = environment['DB_SERVICE_TOKEN'] ?? '';
  if (url === '') {
    const folder = environment['DB_SERVICE_SOCKETS'] ?? '';
    return folder === '' ? null : { addresses: [{ socketPath: join(folder, 'service.sock') }], token };
  }
  const addresses = url.split(',').map((text) => parseServiceAddress(text.trim(), token));
  if (addresses.includes(null))
    throw new Error(
      `DB_URL must be tcp://host:port or tls://host:port, or several of them separated by commas, but is "${url}"`,
    );
  if (token === '') throw new Error('DB_URL needs DB_SERVICE_TOKEN, the secret of that database service');
  return { addresses: addresses as DatabaseAddress[], token };
}

/** A database, from its file. */
interface StoredDatabase {
  readonly resource: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
}

/** Operations of a database's owner, in addition to {@link DatabaseStore}. */
export interface DatabaseOwner {
  /** Applies pending migrations; `files` are names and SQL. @returns the names applied now. */
  migrate(place: DatabasePlace, files: readonly (readonly [name: string, sql: string])[]): Promise<string[]>;
  /** Copies the database to a file of the service's machine, while it is in use. */
  backup(place: DatabasePlace, file: string): Promise<{ bytes: number }>;
  /**
   * Returns which of these migrations were applied; creates no database. @throws {PlatformError} `migration_changed`.
   */
  migrations(place: DatabasePlace, files: readonly (readonly [name: string, sql: string])[]): Promise<KnownMigrations>;
  /**
   * Imports a file of the service's machine (SQL or a SQLite file) into the database atomically; continues after the
   * response.
   *
   * @param what.id identifies the import; without `file`, only the progress is returned.
   * @param what.replace whether existing content is deleted first. @param what.waitMs how long the response may wait
   * for the end.
   * @throws {SqlRefusal} when too many imports are running, and always in a managed cloud.
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
   * Replaces the database by a copy of another database of the same namespace.
   *
   * @param keepAs name under which the replaced database is stored, with all commits.
   */
  restoreFrom(place: DatabasePlace, resource: string, keepAs?: string): Promise<void>;
  /**
   * Returns the moments that its replica has, in milliseconds since 1970, or null. @throws {SqlRefusal} without
   * replicas.
   */
  replica(place: DatabasePlace): Promise<{ range: { oldest: number; newest: number } | null }>;
  /**
   * Creates a database in the same namespace with the content of a moment.
   *
   * @returns the size of the database, and the time of the latest change in it.
   * @throws {SqlRefusal} when the replica does not have that moment.
   */
  restoreAt(place: DatabasePlace, at: number, resource: string): Promise<{ bytes: number; time: number }>;
  /** Lists the databases of a namespace. @throws {SqlRefusal} if the databases are in a managed cloud. */
  list(namespace: string, after?: string): Promise<readonly StoredDatabase[]>;
  /**
   * Creates a database with the same content; `shared` says whether the file system shares the blocks.
   *
   * @param options.unlessThere whether an existing database is kept; `made` is then false.
   */
  branch(
    place: DatabasePlace,
    resource: string,
    options?: { readonly unlessThere?: boolean },
  ): Promise<{ bytes: number; shared: boolean; made: boolean }>;
  /** Deletes a database. @returns whether there was one. */
  remove(place: DatabasePlace): Promise<boolean>;
  describe(place: DatabasePlace): Promise<{ bytes: number; path: string }>;
  /** Returns the bytes of all files by namespace, including branches and snapshots; null in a managed cloud. */
  kept(): Promise<Readonly<Record<string, number>> | null>;
  /**
   * Moves a project's databases and durable objects to the database service of another machine.
   *
   * @throws {SqlRefusal} if there is no such machine, or the databases cannot be moved now; they stay where they are.
   */
  move(namespace: string, to: string): Promise<void>;
  /** Deletes the files of a namespace that are not databases, such as damaged files that were set aside. */
  sweep(namespace: string): Promise<void>;
  /** Returns the slow statements of the database since it was opened, longest total duration first. */
  slow(place: DatabasePlace): Promise<readonly SlowStatement[]>;
}

export interface DatabaseClient extends DatabaseStore, DatabaseOwner {
  close(): void;
}

const ATTEMPTS_MAX = 3;
/** The minimum cost of a statement. */
const LEAST_MS = 0.01;
const ELSEWHERE_PAUSE_MS = 50;
const VERDICT_MS = 3000;
/**
 * Operations that can be retried if the process exits: incomplete statements are rolled back, and scripts continue
 * after the applied statements.
 */
const repeatable = new Set<number>([ops.query, ops.batch, ops.exec, ops.begin, ops.migrate]);
const readOnly = /^\s*(?:(?:select|values|explain)\b|with\b(?![^]*\b(?:insert|update|delete|replace)\b))/i;

/** Opens the client, which connects on first use, and again after a service was replaced. */
export function createDatabaseClient(
  given: DatabaseAddress | ServiceAddresses,
  limits: DatabaseLimits = defaultLimits.database,
): DatabaseClient {
  const { addresses, token } =
    'addresses' in given ? given : { addresses: [given], token: 'token' in given ? given.token : '' };
  const routes = new DatabaseRoutes({ addresses, token, limits, onLost: lost, onElsewhere: sendElsewhere });

  function send(request: Sent): void {
    const link = routes.linkOf(request.name);
    if (link instanceof DatabaseLink) link.send(request);
    else
      link.then(
        (found) => (found.isOpen ? found.send(request) : send(request)),
        (error: unknown) => request.reject(error),
      );
  }

  /** Called when a request was not started because its database is, or will be, on another machine. */
  function sendElsewhere(request: Sent): void {
    routes.forget(request.name);
    const isFirst = request.wanderingSince === undefined;
    request.wanderingSince ??= performance.now();
    if (performance.now() - request.wanderingSince > limits.homeMs)
      request.reject(new PlatformError('database_unavailable', { reason: 'no machine has its database' }));
    else if (isFirst) send(request);
    else setTimeout(() => send(request), ELSEWHERE_PAUSE_MS);
  }

  async function lost({ endpoint, shard }: FoundShard, gone: DatabaseLink, unanswered: readonly Sent[]): Promise<void> {
    if (unanswered.length === 0) return;
    const names = [...new Set(unanswered.map(({ name }) => name))];
    let verdict: Verdict | null = null;
    try {
      verdict = await verdictOf(endpoint, { shard, key: gone.key, names });
    } catch {
      // The service itself has exited, so the outcome is unknown.
    }
    for (const request of unanswered) {
      // A process that is ended because of a statement does not report the CPU that it used.
      if (verdict?.blamed === request.id && verdict.reason === 'time') request.owner?.settleCpu(0, verdict.limitMs);
      const answer = fate(request, verdict);
      if (answer !== 'again') request.resolve(answer);
      else if (routes.isClosed)
        request.reject(new PlatformError('database_unavailable', { reason: 'its client is closed' }));
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
    // An invocation without remaining budget starts no request. The actual cost is in the response.
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

  /** The files are on the machine of the nearest service. */
  async function needHere(place: DatabasePlace): Promise<void> {
    const away = await routes.awayFrom(`${place.namespace}/${place.resource}`);
    if (away !== null)
      throw new SqlRefusal(
        'SQLITE_CANTOPEN',
        `its databases are on another machine (${away}): files are read and written there, or after \`platform db move\``,
      );
  }

  return {
    run,
    async migrate(place, files) {
      return (await own<{ applied: string[] }>(place, ops.migrate, files)).applied;
    },
    migrations: (place, files) => own(place, ops.migrations, files),
    async backup(place, file) {
      await needHere(place);
      return own(place, ops.backup, [file]);
    },
    async import(place, what) {
      if (what.file !== undefined) await needHere(place);
      // A restarted service does not know that the import was started before.
      const attempts = what.file === undefined ? ATTEMPTS_MAX : 1;
      return routes.ask<ImportState>(ops.import, `${place.namespace}/${place.resource}`, what, attempts);
    },
    async restore(place, file) {
      await needHere(place);
      await own(place, ops.restore, [file]);
    },
    async restoreFrom(place, resource, keepAs) {
      await own(place, ops.restore, keepAs === undefined ? [resource, true] : [resource, true, keepAs]);
    },
    replica: ({ namespace, resource }) => routes.ask(ops.replica, `${namespace}/${resource}`, {}, 1),
    restoreAt: ({ namespace, resource }, at, copy) =>
      routes.ask(ops.restoreAt, `${namespace}/${resource}`, { at, resource: copy }, 1),
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
    kept: () => routes.kept(),
    async move(namespace, to) {
      await routes.ask(ops.move, `${namespace}/any`, { to }, 1);
    },
    async sweep(namespace) {
      await routes.ask(ops.sweep, `${namespace}/any`, {}, ATTEMPTS_MAX);
    },
    slow: async (place) => (await own<{ statements: SlowStatement[] }>(place, ops.slow, [])).statements,
    close: () => routes.close(),
  };
}

/** Returns why a shard ended. @throws {Failure} if the service has exited, too. */
async function verdictOf(endpoint: FoundShard['endpoint'], question: unknown): Promise<Verdict> {
  for (let attempt = 1; ; attempt++)
    try {
      // Other machines have a timeout, because a frozen machine does not respond. The service on this machine reports
      // the cause even under load.
      const msMax = endpoint.isLocal ? undefined : VERDICT_MS;
      return JSON.parse((await endpoint.ask(ops.verdict, '', question, msMax)) as string) as Verdict;
    } catch (error) {
      if (attempt === ATTEMPTS_MAX || !endpoint.isLocal) throw error;
    }
}

/** Returns `again`, or the error of a request whose process ended. */
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
    // An interactive transaction without a client is rolled back when its connection closes.
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
