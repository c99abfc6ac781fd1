// Finds the database of an operation, and runs SQL on it. The database service decides what SQL may do
// (runtime/databases/sqlite/fence.ts).
import { databaseOps, SqlRefusal, type WireRefusal, type WireResult } from '#core/database-request.ts';
import type { DatabaseMigrations } from '#core/manifest.ts';
import { copiesDatabases } from '#core/preview-settings.ts';
import { invalid } from '../bindings/arguments.ts';
import type { DatabasePlace } from '../bindings/scope.ts';
import { bindingOf, namespaceOf, opened, placeOf, type RequestScope } from './request-scope.ts';

/** Maximum number of rows in one response. */
export const ROWS_MAX = 1000;

export type Databases = NonNullable<RequestScope['deps']['databases']>;

/** A database, and the migrations of the deployment. */
interface Opened {
  readonly databases: Databases;
  readonly place: DatabasePlace;
  readonly files: DatabaseMigrations['files'];
}

/** Returns the database of the deployment; the database of a preview is created first. */
export async function database(scope: RequestScope): Promise<Opened> {
  const { artifact, deps, route } = scope;
  const databases = opened(deps.databases, 'db');
  const { resource } = bindingOf(scope, 'db');
  const place = placeOf(scope, 'db');
  // If the database were opened before its copy is made, it would be empty.
  if (route.preview !== null && copiesDatabases(artifact.manifest, route.branch))
    await databases.branch({ namespace: namespaceOf(scope), resource }, place.resource, { unlessThere: true });
  const own = artifact.manifest.migrations === undefined ? [] : artifact.migrations();
  return { databases, place, files: own.find((one) => one.resource === resource)?.files ?? [] };
}

export async function query(
  scope: RequestScope,
  sql: string,
  params: readonly unknown[] = [],
  rowsMax = ROWS_MAX + 1,
): Promise<WireResult> {
  const { databases, place } = await database(scope);
  return request<WireResult>(databases, place, databaseOps.query, [sql, params, rowsMax], 0);
}

export async function request<Result>(
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

export function toText(value: unknown, what: string): string {
  if (typeof value !== 'string' || value.trim() === '') throw invalid(`${what} must be a text that is not empty`);
  return value;
}

/** A refusal by the database service is an error of the caller. */
export function refused(error: unknown): never {
  if (error instanceof SqlRefusal) throw invalid(`${error.message} (${error.code})`);
  throw error;
}
