// Management operations on databases: tables, rows, statements, slow queries, migrations, copies. The database
// service decides what SQL may do (runtime/databases/sqlite/fence.ts).
import { existsSync } from 'node:fs';
import path from 'node:path';
import { databaseOps, SqlRefusal, type WireRefusal, type WireResult } from '#core/database-request.ts';
import { PlatformError } from '#core/errors.ts';
import type { DatabaseMigrations } from '#core/manifest.ts';
import { copiesDatabases } from '#core/preview-settings.ts';
import { OWN_STATEMENT, type DescribedTable, type TableColumn } from '#core/resource-call/databases.ts';
import { invalid, toName, toWhole } from '../bindings/arguments.ts';
import type { DatabasePlace } from '../bindings/scope.ts';
import { bindingOf, namespaceOf, opened, placeOf, type RequestScope, type OperationsOf } from './request-scope.ts';
import {
  dropOldest,
  dropSnapshot,
  isSnapshotName,
  listSnapshots,
  makeSnapshot,
  restoreSnapshot,
  snapshotAt,
} from './snapshots.ts';

const ROWS_MAX = 1000;
const TABLES_MAX = 1000;
/** Limit for a value in a page of rows. */
const CELL_CHARS_MAX = 1000;
/** How long a response waits for the end of an import. */
const IMPORT_WAIT_MS = 1000;
/** All tables and views, without those in which the module `vec0` keeps its vectors. */
const TABLES = `SELECT name, type, sql FROM sqlite_master AS s WHERE type IN ('table', 'view')
  AND name NOT LIKE 'sqlite@_%' ESCAPE '@' AND name NOT LIKE 'platform@_internal@_%' ESCAPE '@'
  AND NOT EXISTS (SELECT 1 FROM sqlite_master AS v WHERE v.sql LIKE '%USING vec0(%'
    AND substr(s.name, 1, length(v.name) + 1) = v.name || '_' AND (
      substr(s.name, length(v.name) + 2) IN ('info', 'chunks', 'rowids', 'auxiliary')
      OR substr(s.name, length(v.name) + 2) GLOB 'vector_chunks[0-9][0-9]'
      OR substr(s.name, length(v.name) + 2) GLOB 'metadata[ct]*[0-9][0-9]'))`;

type Databases = NonNullable<RequestScope['deps']['databases']>;

interface Opened {
  readonly databases: Databases;
  readonly place: DatabasePlace;
  readonly files: DatabaseMigrations['files'];
}

/** Operations by name. */
export const databaseOperations: OperationsOf<'db'> = {
  async 'db.tables'(scope) {
    return tables(scope);
  },
  async 'db.rows'(scope) {
    const { args } = scope;
    const table = await tableOf(scope);
    const limit = toWhole(args['limit'], 'limit', { least: 1, most: ROWS_MAX, otherwise: 100 });
    const offset = toWhole(args['offset'], 'offset', { least: 0, most: Number.MAX_SAFE_INTEGER, otherwise: 0 });
    const names = table.columns.map(({ name }) => name);
    const key = keyOf(table);
    const order = args['order'] == null ? null : columnOf(table, args['order']);
    const search = args['search'] == null || args['search'] === '' ? null : toText(args['search'], 'search');
    const where =
      search === null
        ? ''
        : ` WHERE instr(lower(CAST(${quoted(columnOf(table, args['column']))} AS TEXT)), lower(?1)) > 0`;
    const given = search === null ? [] : [search];
    const from = ` FROM ${quoted(table.name)}${where}`;
    const ordered = order === null ? '' : ` ORDER BY ${quoted(order)}${args['descending'] === true ? ' DESC' : ''}`;
    const counted = await query(scope, `${OWN_STATEMENT}SELECT count(*)${from}`, given);
    const selected = [
      ...key.map(quoted),
      ...names.map((name) => shortened(quoted(name))),
      ...names.map((name) => lengthOf(quoted(name))),
    ];
    const { r } = await query(
      scope,
      `${OWN_STATEMENT}SELECT ${selected.join(', ')}${from}${ordered} LIMIT ${limit} OFFSET ${offset}`,
      given,
    );
    const width = names.length;
    return {
      table,
      total: Number(counted.r[0]?.[0] ?? 0),
      key,
      keys: r.map((row) => row.slice(0, key.length)),
      rows: r.map((row) =>
        row.slice(key.length, key.length + width).map((value, at) => {
          const bytes = row[key.length + width + at];
          return typeof bytes !== 'number'
            ? value
            : { cut: bytes, ...(typeof value === 'string' ? { t: value } : (value as object)) };
        }),
      ),
    };
  },
  async 'db.cell'(scope) {
    const table = await tableOf(scope);
    const column = columnOf(table, scope.args['column']);
    const names = keyOf(table);
    const { key } = scope.args;
    if (!Array.isArray(key) || key.length === 0 || key.length !== names.length)
      throw invalid(`key must be the ${names.length} values of ${names.join(', ') || 'a key, which the table lacks'}`);
    const where = names.map((name, at) => `${quoted(name)} IS ?${at + 1}`).join(' AND ');
    const { r } = await query(
      scope,
      `${OWN_STATEMENT}SELECT ${quoted(column)} FROM ${quoted(table.name)} WHERE ${where}`,
      key,
    );
    if (r.length === 0) throw new PlatformError('dashboard_not_found', { reason: 'The row no longer exists' });
    return { value: r[0]![0] };
  },
  async 'db.query'(scope) {
    const { c, r, m } = await query(scope, toText(scope.args['sql'], 'sql'), toParams(scope));
    const [durationMs, rowsRead, rowsWritten, changes] = m;
    return {
      columns: c,
      rows: r.slice(0, ROWS_MAX),
      truncated: r.length > ROWS_MAX,
      meta: { durationMs, rowsRead, rowsWritten, changes },
    };
  },
  async 'db.explain'(scope) {
    const { r } = await query(
      scope,
      `${OWN_STATEMENT}EXPLAIN QUERY PLAN ${toText(scope.args['sql'], 'sql')}`,
      toParams(scope),
    );
    return {
      plan: r.map(([id, parent, , detail]) => ({ id: Number(id), parent: Number(parent), detail: String(detail) })),
    };
  },
  async 'db.slow'(scope) {
    const { databases, place } = await database(scope);
    return { statements: await databases.slow(place) };
  },
  async 'db.script'(scope) {
    const { databases, place } = await database(scope);
    const sql = toText(scope.args['sql'], 'sql');
    const { t } = await request<{ t: number }>(databases, place, databaseOps.begin, [], 0);
    try {
      const { n, d } = await request<{ n: number; d: number }>(databases, place, databaseOps.exec, [sql], t);
      await request(databases, place, databaseOps.commit, [], t);
      return { count: n, durationMs: d };
    } catch (error) {
      await databases.run(place, databaseOps.rollback, t, '[]').catch(() => {});
      throw error;
    }
  },
  async 'db.import'(scope) {
    const { databases, place } = await database(scope);
    const { replace, file } = scope.args;
    if (typeof file !== 'string' || !isIn(scope.deps.folder, file))
      throw invalid('file must be a path in the data folder');
    const what = { id: toImportId(scope), file, replace: replace === true, waitMs: IMPORT_WAIT_MS };
    return databases.import(place, what).catch(refused);
  },
  async 'db.import-state'(scope) {
    const { databases, place } = await database(scope);
    const { wait, cancel } = scope.args;
    const what = { id: toImportId(scope), cancel: cancel === true, ...(wait === true && { waitMs: IMPORT_WAIT_MS }) };
    return databases.import(place, what).catch(refused);
  },
  async 'db.migrations'(scope) {
    const { databases, place, files } = await database(scope);
    const { applied, pending } = await databases.migrations(place, files);
    return { applied, pending };
  },
  async 'db.migrate'(scope) {
    const { databases, place, files } = await database(scope);
    return { applied: await databases.migrate(place, files) };
  },
  async 'db.copy'(scope) {
    const { databases, place } = await database(scope);
    return databases.backup(place, newFileIn(scope.deps.folder, scope.args['file']));
  },
  async 'db.copies'(scope) {
    const { databases, namespace, resource } = production(scope);
    const { bytes } = await databases.describe({ namespace, resource });
    return { copies: await copiesOf(databases, namespace, resource), bytes, copiesMax: scope.deps.copiesMax };
  },
  async 'db.make-copy'(scope) {
    const { databases, namespace, resource } = production(scope);
    return makeCopy(scope, databases, namespace, resource, 'copy');
  },
  async 'db.restore'(scope) {
    const { databases, namespace, resource } = production(scope);
    const name = toCopyName(scope.args['name']);
    if (!(await copiesOf(databases, namespace, resource)).some((copy) => copy.name === name)) throw noCopy(name);
    return { before: await replaceBy(scope, databases, { namespace, resource }, name) };
  },
  async 'db.moments'(scope) {
    const { databases, namespace, resource } = production(scope);
    try {
      return { ...(await databases.replica({ namespace, resource })), reason: null };
    } catch (error) {
      if (error instanceof SqlRefusal) return { range: null, reason: error.message };
      throw error;
    }
  },
  async 'db.restore-at'(scope) {
    const { databases, namespace, resource } = production(scope);
    const { at, inPlace } = scope.args;
    if (typeof at !== 'number' || !Number.isSafeInteger(at) || at < 0) throw invalid('at is a moment, in milliseconds');
    const name = nameOfNow('point');
    const most = Math.max(2, scope.deps.copiesMax);
    const made = await snapshotAt(databases, { namespace, resource }, name, at, most).catch(refused);
    const copy = { name, bytes: made.bytes, madeAt: Date.now() };
    const before = inPlace === true ? await replaceBy(scope, databases, { namespace, resource }, name) : null;
    return { copy, changedAt: made.changedAt, before };
  },
  async 'db.drop-copy'(scope) {
    const { databases, namespace, resource } = production(scope);
    const name = toCopyName(scope.args['name']);
    if ((await dropSnapshot(databases, namespace, name, resource)) === 0) throw noCopy(name);
    return {};
  },
};

function toImportId({ args }: RequestScope): string {
  return toName(args['id'], 'The id of the import', 64);
}

/** Refusals of the database service are the caller's error. */
function refused(error: unknown): never {
  if (error instanceof SqlRefusal) throw invalid(`${error.message} (${error.code})`);
  throw error;
}

/** Only databases that are not copies themselves can be copied. */
function production(scope: RequestScope): { databases: Databases; namespace: string; resource: string } {
  if (scope.route.preview !== null)
    throw invalid('Only production can be copied: the database of a preview is already a copy');
  const { resource } = bindingOf(scope, 'db');
  return { databases: opened(scope.deps.databases, 'db'), namespace: namespaceOf(scope), resource };
}

async function copiesOf(
  databases: Databases,
  namespace: string,
  resource: string,
): Promise<{ name: string; bytes: number; madeAt: number }[]> {
  const found = await listSnapshots(databases, namespace);
  return found
    .flatMap(({ name, madeAt, databases: of }) =>
      of.filter((one) => one.resource === resource).map(({ bytes }) => ({ name, bytes, madeAt })),
    )
    .toReversed();
}

/**
 * Replaces the database by a snapshot. The replaced data becomes a snapshot in the same step, so that no write can
 * happen in between. @returns its name.
 */
async function replaceBy(
  { deps }: RequestScope,
  databases: Databases,
  { namespace, resource }: DatabasePlace,
  name: string,
): Promise<string> {
  const before = nameOfNow('before-restore');
  await restoreSnapshot(databases, namespace, name, resource, before);
  await dropOldest(databases, namespace, [before, name], Math.max(2, deps.copiesMax));
  return before;
}

function nameOfNow(prefix: string): string {
  return `${prefix}-${new Date().toISOString().replace(/\D/g, '').slice(0, 17)}`;
}

async function makeCopy(
  { deps }: RequestScope,
  databases: Databases,
  namespace: string,
  resource: string,
  prefix: string,
): Promise<{ copy: { name: string; bytes: number; madeAt: number }; dropped: string[] }> {
  const madeAt = Date.now();
  const name = nameOfNow(prefix);
  const made = await makeSnapshot(databases, namespace, name, [resource], deps.copiesMax);
  const [first] = made.databases;
  if (first === undefined) throw invalid('The database is empty: it was never opened');
  return { copy: { name, bytes: first.bytes, madeAt }, dropped: made.dropped };
}

function toCopyName(value: unknown): string {
  if (!isSnapshotName(value)) throw invalid('name is that of a copy');
  return value;
}

function noCopy(name: string): PlatformError {
  return new PlatformError('dashboard_not_found', { reason: `This database has no snapshot ${name}` });
}

async function tables(
  scope: RequestScope,
  name: string | null = null,
): Promise<{ readonly tables: DescribedTable[]; readonly bytes: number }> {
  const wanted = name === null ? '' : ' AND name = ?1';
  const { r, m } = await query(
    scope,
    `${OWN_STATEMENT}SELECT t.name, t.type, t.sql, c.name, c.type, c."notnull", c.pk FROM (${TABLES}${wanted} ORDER BY name LIMIT ${TABLES_MAX}) t
     JOIN pragma_table_info(t.name) c ORDER BY t.name, c.cid`,
    name === null ? [] : [name],
    TABLES_MAX * 100,
  );
  const found = new Map<string, DescribedTable & { columns: TableColumn[] }>();
  for (const [table, type, sql, column, declared, notNull, key] of r) {
    const text = String(table);
    let one = found.get(text);
    if (one === undefined)
      found.set(text, (one = { name: text, type: type as 'table' | 'view', sql: String(sql ?? ''), columns: [] }));
    one.columns.push({
      name: String(column),
      type: String(declared ?? ''),
      notNull: notNull === 1,
      primaryKey: Number(key),
    });
  }
  const [, , , , , , bytes] = m;
  return { tables: [...found.values()], bytes };
}

async function tableOf(scope: RequestScope): Promise<DescribedTable> {
  const name = toName(scope.args['table'], 'The name of the table', 256);
  const {
    tables: [found],
  } = await tables(scope, name);
  if (found === undefined)
    throw new PlatformError('dashboard_not_found', { reason: `The database has no table ${name.slice(0, 100)}` });
  return found;
}

function columnOf({ name: table, columns }: DescribedTable, name: unknown): string {
  const found = columns.find((column) => column.name === name);
  if (found === undefined) throw invalid(`The table ${table} has no column ${String(name).slice(0, 100)}`);
  return found.name;
}

/** The columns that identify a row: SQLite's rowid for a table without a key. */
function keyOf({ type, columns }: DescribedTable): string[] {
  if (type === 'view') return [];
  const declared = columns.filter(({ primaryKey }) => primaryKey > 0);
  if (declared.length > 0)
    return declared.toSorted((one, other) => one.primaryKey - other.primaryKey).map(({ name }) => name);
  return columns.some(({ name }) => name.toLowerCase() === 'rowid') ? [] : ['rowid'];
}

function shortened(column: string): string {
  return `CASE WHEN typeof(${column}) IN ('text', 'blob') THEN substr(${column}, 1, ${CELL_CHARS_MAX}) ELSE ${column} END`;
}

/** Byte length of a value that does not fit. */
function lengthOf(column: string): string {
  return `CASE WHEN typeof(${column}) IN ('text', 'blob') AND length(${column}) > ${CELL_CHARS_MAX} THEN length(CAST(${column} AS BLOB)) END`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

async function database(scope: RequestScope): Promise<Opened> {
  const { artifact, deps, route } = scope;
  const databases = opened(deps.databases, 'db');
  const { resource } = bindingOf(scope, 'db');
  const place = placeOf(scope, 'db');
  // Opened before its copy is made, it would start empty.
  if (route.preview !== null && copiesDatabases(artifact.manifest, route.branch))
    await databases.branch({ namespace: namespaceOf(scope), resource }, place.resource, { unlessThere: true });
  const own = artifact.manifest.migrations === undefined ? [] : artifact.migrations();
  return { databases, place, files: own.find((one) => one.resource === resource)?.files ?? [] };
}

async function query(
  scope: RequestScope,
  sql: string,
  params: readonly unknown[] = [],
  rowsMax = ROWS_MAX + 1,
): Promise<WireResult> {
  const { databases, place } = await database(scope);
  return request<WireResult>(databases, place, databaseOps.query, [sql, params, rowsMax], 0);
}

async function request<Result>(
  databases: Databases,
  place: DatabasePlace,
  op: number,
  payload: readonly unknown[],
  transaction: number,
): Promise<Result> {
  const text = (await databases.run(place, op, transaction, JSON.stringify(payload))) as string;
  const answer = JSON.parse(text) as Result | WireRefusal;
  const refusal = (answer as WireRefusal).e;
  if (refusal !== undefined) {
    const [code, message, line] = refusal;
    throw invalid(`${message} (${code}${line === undefined ? '' : `, line ${line}`})`);
  }
  return answer as Result;
}

function toParams({ args }: RequestScope): readonly unknown[] {
  const { params = [] } = args;
  if (!Array.isArray(params)) throw invalid('params must be a list');
  return params;
}

function toText(value: unknown, what: string): string {
  if (typeof value !== 'string' || value.trim() === '') throw invalid(`${what} must be a text that is not empty`);
  return value;
}

/** @throws {PlatformError} for a path outside the folder, or one that exists. */
function newFileIn(folder: string, value: unknown): string {
  const file = toText(value, 'file');
  if (!isIn(folder, file) || existsSync(file)) throw invalid('file must be an unused path in the data folder');
  return file;
}

/** Whether a path is absolute and inside a folder. */
export function isIn(folder: string, file: string): boolean {
  return path.resolve(file) === file && file.startsWith(`${folder}${path.sep}`);
}
