// Answers questions about bindings (resources/) for the API: asks for the permission on the project, asks the engines,
// and writes what was changed into the audit log: which binding, by which operation, never a value.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { ResourceOperation } from '#core/resource-call.ts';
import { permissionOf, type Refusal, type ResourceAccess, type ResourceQuestion } from '#resources/access.ts';
import type { Parts } from '../parts.ts';
import type { RequestState } from './app.ts';
import { ApiError } from './errors.ts';
import { callResource } from './resource-calls.ts';

const STATEMENT_CHARS_MAX = 200;

/** What the routes find in `ctx.state.resources`. */
export function resourceAccess(parts: Parts, { access, audit }: RequestState): ResourceAccess {
  return {
    async ask(operation, question) {
      const { project: id, branch, binding, args, waitMs } = question;
      const { projectId, organizationId } = await access.project(permissionOf(operation), id);
      const asked = {
        projectId,
        branch,
        args,
        ...(binding !== undefined && { binding }),
        ...(waitMs !== undefined && { waitMs }),
      };
      const given = await callResource(parts, operation, asked);
      const details = changeOf(operation, question, given);
      if (details !== null)
        await audit(parts.sql, {
          organizationId,
          projectId,
          action: `data.${operation}`,
          subjectKind: operation.split('.')[0]!,
          subjectId: binding ?? null,
          details: { target: branch === undefined ? 'production' : branch, ...details },
        });
      return given;
    },
    refuse(why: Refusal, reason: string) {
      if (why === 'not_found') return new ApiError('not_found');
      return why === 'payload_too_large' ? new ApiError(why, { allowed: reason }) : new ApiError(why, { reason });
    },
    get transit() {
      const folder = path.join(parts.folder, 'exports');
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return folder;
    },
  };
}

/** What the audit log says of a change; null where nothing changed. Names are told, values are not. */
function changeOf(
  operation: ResourceOperation,
  { args }: ResourceQuestion<ResourceOperation>,
  given: unknown,
): Readonly<Record<string, string | number | boolean>> | null {
  if (permissionOf(operation) === 'data:read') return null;
  const { sql, key, keys, id, name, dead, fromStep, type } = args as Readonly<Record<string, unknown>>;
  const { meta, count, removed, written } = given as Readonly<Record<string, unknown>>;
  if (removed === false || written === false || count === 0) return null;
  if (operation === 'db.query' && (meta as { changes: number }).changes === 0 && isReading(String(sql))) return null;
  const one = key ?? id ?? name ?? (keys as readonly string[] | undefined)?.[0];
  return {
    ...(typeof sql === 'string' && { statement: withoutValues(sql) }),
    ...(typeof one === 'string' && { name: one }),
    ...(typeof count === 'number' && { count }),
    ...(dead === true && { dead }),
    ...(typeof fromStep === 'string' && { fromStep }),
    ...(typeof type === 'string' && { type }),
  };
}

function isReading(sql: string): boolean {
  return /^\s*(?:select|values|explain|pragma)\b/i.test(sql);
}

/** A statement whose texts and numbers are gone: they are somebody's data. */
function withoutValues(sql: string): string {
  return sql
    .slice(0, 10 * STATEMENT_CHARS_MAX)
    .replace(/'(?:[^']|'')*(?:'|$)/g, '?')
    .replace(/\b\d[\w.]*/g, '?')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, STATEMENT_CHARS_MAX);
}
