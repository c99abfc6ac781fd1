// Operations that run SQL on a database, explain it, and list slow statements.
import { databaseOps } from '#core/database-request.ts';
import { OWN_STATEMENT } from '#core/resource-call/databases.ts';
import { invalid } from '../bindings/arguments.ts';
import { database, query, request, ROWS_MAX, toText } from './database-scope.ts';
import type { OperationsOf, RequestScope } from './request-scope.ts';

export const statementOperations = {
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
} satisfies Partial<OperationsOf<'db'>>;

function toParams({ args }: RequestScope): readonly unknown[] {
  const { params = [] } = args;
  if (!Array.isArray(params)) throw invalid('params must be a list');
  return params;
}
