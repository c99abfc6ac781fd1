// Results of a project's migrations, as the migrator recorded them.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { readMigrations, type AuditedMigration } from '../../records/migrations.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { pageOf, pageQuery, readPage, toPage } from '../../http/page.ts';
import { nullable, Timestamp } from '../../http/schemas.ts';

const Text = nullable(Type.String());
const results = ['running', 'applied', 'failed', 'changed'] as const;
const Migration = Type.Object({
  id: Type.String(),
  deploymentId: Type.String(),
  // Name in platform.yaml.
  database: Type.String(),
  // Branch of the database; null means production.
  branch: Text,
  file: Type.String(),
  // Hash of the deployment's migration file.
  sha256: Type.String(),
  // `changed`: the migration was applied earlier with another content, and is skipped.
  result: Type.Enum(results),
  errorMessage: Text,
  requestedBy: Type.Object({ accountId: Text, login: Text, author: Text }),
  // The process that applied the migration.
  appliedBy: Type.String(),
  // Above 1: earlier processes were interrupted.
  attempt: Type.Integer(),
  startedAt: Timestamp,
  finishedAt: nullable(Timestamp),
  // Duration of the migration; null if the process ended before recording it.
  durationMs: nullable(Type.Integer()),
});

export const migrations = platform<Dependencies, RequestState>().get(
  '/projects/:id/migrations',
  {
    ...needs('deployment:read', 'project'),
    tags: ['deployments'],
    summary: 'List the migrations applied to the databases of a project, newest first',
    query: Type.Object({
      ...pageQuery,
      deploymentId: Type.Optional(Type.String({ pattern: '^d[0-9a-z]{12}$' })),
      database: Type.Optional(Type.String({ maxLength: 100, description: 'Name of the database in platform.yaml' })),
      branch: Type.Optional(
        Type.String({ maxLength: 255, description: 'Branch whose databases are meant; empty: production' }),
      ),
      result: Type.Optional(Type.Enum(results)),
    }),
    response: pageOf(Migration),
  },
  async (ctx) => {
    const { projectId } = await ctx.state.access.project('deployment:read', ctx.params.id);
    const { branch, ...filters } = ctx.query;
    const { count, after } = readPage(ctx.query);
    const before = after === null ? null : Number(after.id);
    if (before !== null && !Number.isSafeInteger(before))
      throw new ApiError('bad_request', { reason: 'query.cursor: is not a cursor of this list' });
    const wanted = { ...filters, ...(branch !== undefined && { branch: branch === '' ? null : branch }) };
    const rows = await readMigrations(ctx.env.sql, projectId, wanted, count, before);
    return toPage(rows, count, toJson, ({ id }) => ({ order: '', id: String(id) }));
  },
);

function toJson({ id, requestedBy, login, author, startedAt, finishedAt, ...row }: AuditedMigration) {
  return {
    ...row,
    id: String(id),
    requestedBy: { accountId: requestedBy, login, author },
    startedAt: startedAt.toISOString(),
    finishedAt: finishedAt?.toISOString() ?? null,
  };
}
