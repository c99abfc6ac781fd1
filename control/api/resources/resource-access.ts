// Access to bindings (resources/) for the API: checks the permission on the project, calls the engines, and writes
// changes to the audit log: the binding and the operation, never a value.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { PlatformError } from '#core/errors.ts';
import type { ResourceOperation } from '#core/resource-call.ts';
import {
  permissionOf,
  permissionOfCall,
  type Refusal,
  type ResourceAccess,
  type ResourceQuestion,
  type SandboxCall,
} from '#resources/access.ts';
import { refusalOf } from '#resources/refusals.ts';
import { callSandbox } from '#resources/sandbox-calls.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { failureOf } from '../../http/failures.ts';
import { callResource } from './resource-calls.ts';

const STATEMENT_CHARS_MAX = 200;

/** Creates the `ctx.state.resources` of a request. */
export function resourceAccess(deps: Dependencies, { access, audit, requestId }: RequestState): ResourceAccess {
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
      const given = await callResource(deps, operation, asked);
      const details = changeOf(operation, question, given);
      if (details !== null)
        await audit(deps.sql, {
          organizationId,
          projectId,
          action: `data.${operation}`,
          subjectKind: operation.split('.')[0]!,
          subjectId: binding ?? null,
          details: { target: branch === undefined ? 'production' : branch, ...details },
        });
      return given;
    },
    async sandbox({ project: id, branch, binding, request, signal }) {
      const { projectId, organizationId } = await access.project(permissionOfCall(request.operation), id);
      const place = await callResource(deps, 'sandbox.place', { projectId, branch, binding, args: {} });
      const note = async (): Promise<void> => {
        if (permissionOfCall(request.operation) === 'data:read') return;
        await audit(deps.sql, {
          organizationId,
          projectId,
          action: `data.sandbox.${request.operation}`,
          subjectKind: 'sandbox',
          subjectId: binding,
          details: { target: branch === undefined ? 'production' : branch, ...namesOf(request) },
        });
      };
      try {
        const answer = await callSandbox(deps.sandboxes, place, request, signal);
        await note();
        return answer;
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error;
        // The operation may have been executed although the call failed.
        if (error.code === 'sandbox_lost' || error.code === 'sandbox_destroyed') await note();
        throw refusedBySandbox(error);
      }
    },
    async explain(error) {
      const known = error instanceof PlatformError ? refusedBySandbox(error) : error;
      const answer = failureOf(known, { log: deps.log, requestId, method: 'GET', route: null });
      const { code, message } = (await answer.json()) as { code: string; message: string };
      return { code, message };
    },
    refuse(why: Refusal, reason: string) {
      if (why === 'not_found') return new ApiError('not_found');
      return why === 'payload_too_large' ? new ApiError(why, { allowed: reason }) : new ApiError(why, { reason });
    },
    importLimits: deps.databaseLimits,
    get transit() {
      const folder = path.join(deps.folder, 'exports');
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return folder;
    },
  };
}

function refusedBySandbox(error: PlatformError): ApiError {
  return ApiError.inWords(refusalOf(error.code, error.status), error.message);
}

/** Names for the audit log of a sandbox call; commands and arguments are left out, as they may hold secrets. */
function namesOf(request: SandboxCall['request']): Readonly<Record<string, string>> {
  const { operation, args = {} } = request;
  if (operation === 'list' || operation === 'listSnapshots') return {};
  const { path, id, port, auth } = args as Readonly<Record<string, unknown>>;
  const what = operation === 'snapshot' || operation === 'fork' ? operation : 'process';
  return {
    name: request.sandbox,
    ...(typeof path === 'string' && { path }),
    ...(typeof id === 'string' && { [what]: id }),
    ...(typeof port === 'number' && { port: String(port) }),
    ...(auth === 'public' && { auth }),
  };
}

/** Audit entry of a change, with names but no values; null if nothing changed. */
function changeOf(
  operation: ResourceOperation,
  { args }: ResourceQuestion<ResourceOperation>,
  given: unknown,
): Readonly<Record<string, string | number | boolean>> | null {
  if (permissionOf(operation) === 'data:read') return null;
  // This operation is called many times per import, so it gets no audit entry.
  if (operation === 'db.import-state' && (args as { cancel?: boolean }).cancel !== true) return null;
  const { sql, key, keys, id, object, name, dead, fromStep, type, replace, at, inPlace } = args as Readonly<
    Record<string, unknown>
  >;
  const { meta, count, removed, written } = given as Readonly<Record<string, unknown>>;
  if (removed === false || written === false || count === 0) return null;
  if (operation === 'db.query' && (meta as { changes: number }).changes === 0 && isReading(String(sql))) return null;
  const one = key ?? id ?? object ?? name ?? (keys as readonly string[] | undefined)?.[0];
  return {
    ...(typeof sql === 'string' && { statement: withoutValues(sql) }),
    ...(typeof one === 'string' && { name: one }),
    ...(typeof count === 'number' && { count }),
    ...(dead === true && { dead }),
    ...(replace === true && { replace }),
    ...(operation === 'db.restore-at' && typeof at === 'number' && { at: new Date(at).toISOString() }),
    ...(inPlace === true && { inPlace }),
    ...(typeof fromStep === 'string' && { fromStep }),
    ...(typeof type === 'string' && { type }),
  };
}

function isReading(sql: string): boolean {
  return /^\s*(?:select|values|explain|pragma)\b/i.test(sql);
}

/** A statement without its literals, which are user data. */
function withoutValues(sql: string): string {
  return sql
    .slice(0, 10 * STATEMENT_CHARS_MAX)
    .replace(/'(?:[^']|'')*(?:'|$)/g, '?')
    .replace(/\b\d[\w.]*/g, '?')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, STATEMENT_CHARS_MAX);
}
