// `DB_STORAGE_MODE=managed-cloud`: the store of databases over a libSQL cloud. The cloud limits the SQL. This file has
// the operations, with checks that make both modes behave the same. Requests and transactions are in
// database-cloud-streams.ts.
import { writeFile } from 'node:fs/promises';
import { type DatabaseLimits, defaultLimits } from '#core/limits.ts';
import { appliedMigrations, migrationLedger, pendingMigrations, rememberMigration } from '#core/database-migrations.ts';
import {
  createOutbox,
  findOutbox,
  insertOutbox,
  outboxList,
  outboxPage,
  outboxTable,
  readOutbox,
  removeOutbox,
} from '#core/database-outbox.ts';
import { databaseOps, fromWire, outboxOps, SqlRefusal } from '#core/database-request.ts';
import { PlatformError } from '#core/errors.ts';
import { OWN_STATEMENT } from '#core/resource-call/databases.ts';
import type { DatabaseStore } from '../engine/bindings/database.ts';
import type { DatabasePlace } from '../engine/bindings/scope.ts';
import { limitedChange, refusesLimit, shapeOf, shapeSql } from '../databases/sqlite/limited-changes.ts';
import { checkOnlyLastHasParameters, oneStatement, splitStatements } from '../databases/sqlite/sql-text.ts';
import { cloudName, createDatabaseCloudApi, type DatabaseCloudSettings } from './database-cloud-api.ts';
import { checkAllowed, tooBig } from './database-cloud-fence.ts';
import { createDatabaseCloudStreams, own } from './database-cloud-streams.ts';
import type { DatabaseOwner } from './database-service.ts';
import {
  fromHrana,
  resultJson,
  toHrana,
  toHranaRefusal,
  type HranaBatchResult,
  type HranaResult,
  type HranaStatement,
  type HranaError,
  type HranaStep,
  type HranaValue,
} from './hrana.ts';

/** Operations in addition to those of other stores. */
export interface DatabaseCloud
  extends DatabaseStore, Pick<DatabaseOwner, 'migrate' | 'migrations' | 'backup' | 'remove'> {
  /** Creates a new database with the content that another database has now, or had `at` a time within the retention. */
  branch(
    place: DatabasePlace,
    resource: string,
    options?: { readonly unlessThere?: boolean; readonly at?: Date },
  ): Promise<{ bytes: number; shared: boolean; made: boolean }>;
  close(): void;
}

const ops = { ...databaseOps, ...outboxOps };
const OUTBOX_ROWS = 100;
const outside = ['BEGIN', 'COMMIT', 'ROLLBACK'] as const;
const inside = ['SAVEPOINT platform_batch', 'RELEASE platform_batch', 'ROLLBACK TO platform_batch'] as const;

export function createDatabaseCloud(
  settings: DatabaseCloudSettings,
  limits: DatabaseLimits = defaultLimits.database,
): DatabaseCloud {
  const api = createDatabaseCloudApi(settings);
  const streams = createDatabaseCloudStreams(settings, api, limits);
  const { ask } = streams;
  let version = 0;
  const nextVersion = (): number => (version = Math.max(version + 1, Date.now() * 1000));

  /** The statements of a text, of which only the last one has values. */
  function statementsOf(sql: unknown, values: unknown, savepoints = false): HranaStatement[] {
    if (typeof sql !== 'string') throw new SqlRefusal('SQLITE_MISUSE', 'SQL must be text');
    if (Buffer.byteLength(sql) > limits.statementBytesMax) {
      throw new SqlRefusal(
        'SQLITE_TOOBIG',
        `statement too long: ${Buffer.byteLength(sql)} bytes, at most ${limits.statementBytesMax} are allowed`,
      );
    }
    if (!Array.isArray(values)) throw new SqlRefusal('SQLITE_MISUSE', 'the values of a statement must be a list');
    const statements = splitStatements(sql, limits.execStatementsMax);
    const isOne = statements.length < 2 || sql.startsWith(OWN_STATEMENT);
    const last = isOne ? oneStatement(sql) : statements.at(-1)!;
    checkOnlyLastHasParameters(statements);
    for (const { sql: text } of statements) checkAllowed(text, savepoints && statements.length === 1);
    if (values.length !== last.parameters) {
      const given = `the statement has ${last.parameters}, ${values.length} given`;
      throw new SqlRefusal('SQLITE_ERROR', `Wrong number of parameter bindings for SQL query: ${given}`);
    }
    const args = values.map((value) => toHrana(fromWire(value)));
    return [...statements.slice(0, -1).map(({ sql: text }) => own(text)), { sql: last.sql, args, want_rows: true }];
  }

  /** Rewrites a statement whose `LIMIT` the server refuses; null if that is not the reason of the refusal. */
  async function spelledOut(
    place: DatabasePlace,
    transaction: number,
    statement: HranaStatement,
  ): Promise<HranaStatement | null> {
    const change = limitedChange(statement.sql);
    if (change === null) return null;
    const shape = shapeOf(await owned(place, transaction, shapeSql, change.table));
    return shape === null ? null : { ...statement, sql: change.spellOut(shape) };
  }

  /** Runs statements in one transaction. @returns the first failure; passes the results to `take`. */
  async function runTogether(
    place: DatabasePlace,
    transaction: number,
    statements: readonly HranaStatement[],
    take?: (results: readonly (HranaResult | null)[]) => void,
  ): Promise<{ step: number; error: HranaError } | null> {
    const failed = await runSteps(place, transaction, statements, take);
    if (failed === null || !refusesLimit(failed.error.message)) return failed;
    const words = await Promise.all(statements.map((statement) => spelledOut(place, transaction, statement)));
    return words.some((other) => other !== null)
      ? runSteps(
          place,
          transaction,
          statements.map((statement, index) => words[index] ?? statement),
          take,
        )
      : failed;
  }

  async function runSteps(
    place: DatabasePlace,
    transaction: number,
    statements: readonly HranaStatement[],
    take: (results: readonly (HranaResult | null)[]) => void = () => {},
  ): Promise<{ step: number; error: HranaError } | null> {
    const [before, after, undo] = transaction === 0 ? outside : inside;
    const last = statements.length + 1;
    const steps: HranaStep[] = [{ stmt: own(before) }];
    for (const [index, stmt] of statements.entries()) steps.push({ stmt, condition: { type: 'ok', step: index } });
    steps.push({ stmt: own(after), condition: { type: 'ok', step: last - 1 } });
    steps.push({ stmt: own(undo), condition: { type: 'not', cond: { type: 'ok', step: last } } });
    const { step_results, step_errors } = (await ask(place, transaction, {
      type: 'batch',
      batch: { steps },
    })) as HranaBatchResult;
    for (const [index, error] of step_errors.slice(0, last + 1).entries())
      if (error != null) return { step: index - 1, error };
    take(step_results.slice(1, last));
    return null;
  }

  /**
   * @param texts the statements of each text. The result of a text is that of its last statement, with the changes of
   * all.
   */
  async function batch(
    place: DatabasePlace,
    transaction: number,
    texts: readonly (readonly HranaStatement[])[],
  ): Promise<string[]> {
    const startedAt = performance.now();
    let jsons: string[] = [];
    const failed = await runTogether(place, transaction, texts.flat(), (given) => {
      const each = (performance.now() - startedAt) / texts.length;
      const results = [...given] as HranaResult[];
      jsons = texts.map(({ length }) => {
        const ofText = results.splice(0, length);
        const changes = ofText.reduce((sum, { affected_row_count: changed }) => sum + changed, 0);
        return resultJson({ ...ofText.at(-1)!, affected_row_count: changes }, nextVersion(), each);
      });
    });
    if (failed !== null) throw toHranaRefusal(failed.error);
    return jsons;
  }

  async function exec(place: DatabasePlace, transaction: number, text: unknown): Promise<string> {
    if (typeof text !== 'string') throw new SqlRefusal('SQLITE_MISUSE', 'SQL must be text');
    if (Buffer.byteLength(text) > limits.execBytesMax) throw tooBig('the SQL text', `${limits.execBytesMax} bytes`);
    const startedAt = performance.now();
    const statements = splitStatements(text, limits.execStatementsMax);
    const fail = (index: number, { code, message }: SqlRefusal): never => {
      const { line, sql } = statements[index] as { line: number; sql: string };
      throw new SqlRefusal(code, message, [line, sql.slice(0, 200)]);
    };
    for (const [index, { sql }] of statements.entries()) {
      try {
        checkAllowed(sql);
      } catch (error) {
        fail(index, error as SqlRefusal);
      }
    }
    // Runs once, and again from each statement that must be rewritten.
    const given = statements.map(({ sql }) => own(sql));
    for (let done = 0; done < given.length;) {
      const steps = given.slice(done).map((stmt, index): HranaStep => ({
        stmt,
        ...(index === 0 ? {} : { condition: { type: 'ok', step: index - 1 } }),
      }));
      const { step_errors } = (await ask(place, transaction, { type: 'batch', batch: { steps } })) as HranaBatchResult;
      const index = step_errors.findIndex((error) => error != null);
      if (index === -1) break;
      done += index;
      const refusal = toHranaRefusal(step_errors[index]!);
      const other = refusesLimit(refusal.message) ? await spelledOut(place, transaction, given[done]!) : null;
      if (other === null) fail(done, refusal);
      else given[done] = other;
    }
    return JSON.stringify({ n: statements.length, d: Math.round((performance.now() - startedAt) * 1000) / 1000 });
  }

  const ended = (sends: number): string =>
    sends > 0 ? `{"m":[${nextVersion()}],"o":${sends}}` : `{"m":[${nextVersion()}]}`;

  async function owned(
    place: DatabasePlace,
    transaction: number,
    sql: string,
    ...values: (string | number)[]
  ): Promise<unknown[][]> {
    const stmt = { ...own(sql), args: values.map((value) => toHrana(value)), want_rows: true };
    return ((await ask(place, transaction, { type: 'execute', stmt })) as HranaResult).rows.map((row) =>
      row.map(fromHrana),
    );
  }

  async function enqueue(place: DatabasePlace, transaction: number, args: readonly unknown[]): Promise<string> {
    if (transaction === 0) throw new SqlRefusal('SQLITE_MISUSE', 'messages are sent in a transaction');
    const list = outboxList(args);
    await owned(place, transaction, createOutbox);
    const { length } = await owned(place, transaction, insertOutbox, list, limits.outboxMax);
    if (length === 0) {
      const message = `more than ${limits.outboxMax} messages wait to be moved to their queues`;
      throw new SqlRefusal('SQLITE_FULL', message);
    }
    streams.addSends(transaction, length);
    return '{}';
  }

  async function pending(place: DatabasePlace): Promise<string> {
    if ((await owned(place, 0, findOutbox)).length === 0) return '{"rows":[]}';
    return JSON.stringify({ rows: outboxPage((await owned(place, 0, readOutbox, OUTBOX_ROWS)) as [string, string][]) });
  }

  async function dequeue(place: DatabasePlace, ids: unknown): Promise<string> {
    if ((await owned(place, 0, findOutbox)).length > 0) await owned(place, 0, removeOutbox, JSON.stringify(ids));
    return '{}';
  }

  async function dump(place: DatabasePlace): Promise<Uint8Array> {
    const response = await fetch(`${await api.addressOf(place)}/dump`, {
      headers: { authorization: `Bearer ${settings.groupToken}` },
      signal: AbortSignal.timeout(limits.statementMs),
      redirect: 'error',
    }).catch(() => null);
    if (response?.ok !== true)
      throw new PlatformError('database_unavailable', { reason: 'the database cloud supports no dump' });
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (bytes.length > limits.dumpBytesMax) throw tooBig('the database', `${limits.dumpBytesMax} bytes`);
    return bytes;
  }

  async function perform(
    place: DatabasePlace,
    op: number,
    transaction: number,
    args: readonly unknown[],
  ): Promise<string | Uint8Array> {
    switch (op) {
      case ops.query: {
        const startedAt = performance.now();
        const statements = statementsOf(args[0], args[1], transaction !== 0);
        if (statements.length > 1) return (await batch(place, transaction, [statements]))[0]!;
        const stmt = statements[0]!;
        const execute = (statement: HranaStatement): Promise<unknown> =>
          ask(place, transaction, { type: 'execute', stmt: statement });
        const result = await execute(stmt).catch(async (error: unknown) => {
          const other =
            error instanceof SqlRefusal && refusesLimit(error.message)
              ? await spelledOut(place, transaction, stmt)
              : null;
          if (other === null) throw error;
          return execute(other);
        });
        return resultJson(result as HranaResult, nextVersion(), performance.now() - startedAt);
      }
      case ops.batch: {
        if (args.length > limits.batchStatementsMax)
          throw tooBig('the batch', `${limits.batchStatementsMax} statements`);
        const texts = args.map((statement) => {
          if (!Array.isArray(statement))
            throw new SqlRefusal('SQLITE_MISUSE', 'a statement must be SQL text and values');
          return statementsOf(statement[0], statement[1]);
        });
        return texts.length === 0 ? '[]' : `[${(await batch(place, transaction, texts)).join(',')}]`;
      }
      case ops.exec:
        return exec(place, transaction, args[0]);
      case ops.dump:
        return dump(place);
      case ops.begin:
        return `{"t":${await streams.begin(place)}}`;
      case ops.commit:
        return ended(await streams.end(place, transaction, 'COMMIT', 'it was committed'));
      case ops.rollback:
        await streams.end(place, transaction, 'ROLLBACK', 'it was rolled back');
        return ended(0);
      case ops.enqueue:
        return enqueue(place, transaction, args);
      case ops.pending:
        return pending(place);
      case ops.dequeue:
        return dequeue(place, args[0]);
      default:
        throw new SqlRefusal('SQLITE_MISUSE', `there is no operation ${op}`);
    }
  }

  return {
    async run(place, op, transaction, payload) {
      try {
        if (Buffer.byteLength(payload) > limits.requestBytesMax)
          throw tooBig('the request', `${limits.requestBytesMax} bytes`);
        return await perform(place, op, transaction, parsed(payload));
      } catch (error) {
        if (error instanceof SqlRefusal) return error.toJson();
        throw error;
      }
    },
    async migrations(place, files) {
      await ask(place, 0, { type: 'execute', stmt: own(migrationLedger) });
      const rows = (await owned(place, 0, appliedMigrations)) as [string, string][];
      const pending = pendingMigrations(files, new Map(rows));
      return { there: true, applied: rows.map(([file]) => file), pending: pending.map(({ file }) => file) };
    },
    async migrate(place, files) {
      await ask(place, 0, { type: 'execute', stmt: own(migrationLedger) });
      const rows = (await owned(place, 0, appliedMigrations)) as [string, string][];
      const pending = pendingMigrations(files, new Map(rows));
      for (const { file, sql, hash } of pending) {
        const statements = splitStatements(sql, 10_000);
        const remember = [file, new Date().toISOString(), hash].map((value): HranaValue => ({ type: 'text', value }));
        const steps = [
          ...statements.map((statement) => own(statement.sql)),
          { ...own(rememberMigration), args: remember },
        ];
        const failed = await runTogether(place, 0, steps);
        if (failed !== null) {
          const reason = toHranaRefusal(failed.error).message;
          const { line = 1, sql: text = '' } = statements[failed.step] ?? {};
          throw new PlatformError('migration_failed', { file, line, statement: text.trim().slice(0, 500), reason });
        }
      }
      return pending.map(({ file }) => file);
    },
    async backup(place, file) {
      const bytes = await dump(place);
      await writeFile(file, bytes, { mode: 0o600 });
      return { bytes: bytes.length };
    },
    async branch(place, resource, { unlessThere = false, at } = {}) {
      const { retentionDays, prefix } = settings;
      if (at !== undefined && retentionDays !== null && Date.now() - at.getTime() > retentionDays * 86_400_000) {
        throw new PlatformError('invalid_argument', {
          reason: `The database cloud can restore the last ${retentionDays} days (DBCLOUD_PITR_RETENTION_DAYS)`,
        });
      }
      const name = cloudName(prefix, place);
      const branch = { ...place, resource };
      // A copy of a missing database would have no content.
      await api.addressOf(place);
      try {
        await api.create(branch, {
          type: 'database',
          name,
          ...(at === undefined ? {} : { timestamp: at.toISOString() }),
        });
      } catch (error) {
        if (!unlessThere || (error as PlatformError).code !== 'conflict') throw error;
        return { bytes: 0, shared: true, made: false };
      }
      // Deletes waiting messages, which the original database and the copy would otherwise both send.
      if ((await owned(branch, 0, findOutbox)).length > 0) await owned(branch, 0, `DELETE FROM ${outboxTable}`);
      return { bytes: 0, shared: true, made: true };
    },
    remove: (place) => api.remove(place),
    close: () => streams.close(),
  };
}

function parsed(payload: string): readonly unknown[] {
  try {
    const args = JSON.parse(payload) as unknown;
    if (Array.isArray(args)) return args;
  } catch {
    // Refused below.
  }
  throw new SqlRefusal('SQLITE_MISUSE', 'the request is not a JSON list');
}
