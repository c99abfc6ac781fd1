// Tables, rows and queries of a project's databases, and those that auth keeps its users in.
import { PlatformError } from '#core/errors.ts';
import { databaseOps, type WireRefusal, type WireResult, type WireValue } from '#core/database-request.ts';
import { invalid, toName } from '../../engine/bindings/arguments.ts';
import { usersResource } from '../../engine/bindings/auth.ts';
import type { DatabasePlace } from '../../engine/bindings/scope.ts';
import { countOf, deploymentOf, notFound, opened, placeOf, type Asked, type Route } from './api.ts';

/** Rows that an answer has at most: a page is for looking. */
const ROWS_MAX = 1000;

interface Answer {
  readonly columns: readonly string[];
  /** Blobs are `{b: base64}`, integers beyond 2^53 `{i}`. */
  readonly rows: readonly (readonly WireValue[])[];
  readonly meta: {
    readonly durationMs: number;
    readonly rowsRead: number;
    readonly rowsWritten: number;
    readonly changes: number;
  };
}

const ofBinding = (asked: Asked): DatabasePlace => placeOf(asked, 'db');

/** Where auth keeps users: a name that no platform.yaml can declare. */
function ofUsers(asked: Asked): DatabasePlace {
  if (deploymentOf(asked).manifest.bindings['auth'] === undefined) throw notFound('platform.yaml declares no auth');
  return { namespace: asked.parts.namespace, resource: usersResource };
}

async function ask<Result>(
  asked: Asked,
  place: DatabasePlace,
  op: number,
  payload: readonly unknown[],
): Promise<Result> {
  const store = opened(asked.parts.stores.database, 'db');
  const answer = JSON.parse((await store.run(place, op, 0, JSON.stringify(payload))) as string) as Result | WireRefusal;
  const refusal = (answer as WireRefusal).e;
  if (refusal !== undefined) throw new PlatformError('invalid_argument', { reason: `${refusal[1]} (${refusal[0]})` });
  return answer as Result;
}

async function run(asked: Asked, place: DatabasePlace, sql: string, values: readonly unknown[] = []): Promise<Answer> {
  const { c, r, m } = await ask<WireResult>(asked, place, databaseOps.query, [sql, values, ROWS_MAX + 1]);
  const [durationMs, rowsRead, rowsWritten, changes] = m;
  return { columns: c, rows: r, meta: { durationMs, rowsRead, rowsWritten, changes } };
}

/** `{sql, params?}` -> rows, or `{sql, script: true}`, any number of statements -> `{count, durationMs}`. */
async function query(asked: Asked, place: DatabasePlace): Promise<unknown> {
  const { sql, params = [], script = false } = await asked.body();
  if (typeof sql !== 'string' || sql.trim() === '') throw invalid('sql must be a text that is not empty');
  if (!Array.isArray(params)) throw invalid('params must be a list');
  if (script === true) {
    if (params.length > 0) throw invalid('A script takes no params');
    const { n, d } = await ask<{ n: number; d: number }>(asked, place, databaseOps.exec, [sql]);
    return { count: n, durationMs: d };
  }
  const answer = await run(asked, place, sql, params);
  return { ...answer, rows: answer.rows.slice(0, ROWS_MAX), truncated: answer.rows.length > ROWS_MAX };
}

const listed = `SELECT name, type, sql FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite@_%' ESCAPE '@'`;

async function tables(asked: Asked, place: DatabasePlace): Promise<unknown> {
  const { rows } = await run(asked, place, `${listed} ORDER BY name`);
  return { tables: rows.map(([name, type]) => ({ name, type })) };
}

/** A page of a table's rows, with how many there are. */
async function rows(asked: Asked, place: DatabasePlace): Promise<unknown> {
  const name = toName(asked.params['t'], 'The name of the table', 256);
  const limit = countOf(asked.query, 'limit', { least: 1, most: ROWS_MAX, otherwise: 100 });
  const offset = countOf(asked.query, 'offset', { least: 0, most: Number.MAX_SAFE_INTEGER, otherwise: 0 });
  const [found] = (await run(asked, place, `${listed} AND name = ?1`, [name])).rows;
  if (found === undefined) throw notFound(`The database has no table ${name.slice(0, 100)}`);
  const quoted = `"${name.replaceAll('"', '""')}"`;
  const [counted] = (await run(asked, place, `SELECT count(*) FROM ${quoted}`)).rows;
  const page = await run(asked, place, `SELECT * FROM ${quoted} LIMIT ?1 OFFSET ?2`, [limit, offset]);
  return { name, type: found[1], sql: found[2], total: counted?.[0] ?? 0, columns: page.columns, rows: page.rows };
}

async function schema(asked: Asked, place: DatabasePlace): Promise<unknown> {
  const sql = `SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY tbl_name, type DESC, name`;
  const { rows: found } = await run(asked, place, sql);
  return { schema: found.map(([type, name, table, text]) => ({ type, name, table, sql: text })) };
}

function below(prefix: string, place: (asked: Asked) => DatabasePlace): Route[] {
  return [
    ['POST', `${prefix}/query`, (asked) => query(asked, place(asked))],
    ['GET', `${prefix}/tables`, (asked) => tables(asked, place(asked))],
    ['GET', `${prefix}/tables/:t`, (asked) => rows(asked, place(asked))],
    ['GET', `${prefix}/schema`, (asked) => schema(asked, place(asked))],
  ];
}

export const databaseRoutes: readonly Route[] = [...below('/api/db/:b', ofBinding), ...below('/api/auth', ofUsers)];
