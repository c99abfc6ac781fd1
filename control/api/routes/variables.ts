// Environment variables of a project. Secret values are never returned.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { Transaction } from '#postgres/sql.ts';
import type { Reached } from '../../access/access.ts';
import { redeployOnVariables, type ChangedVariables } from '../../releases/redeploy.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { changeProject } from '../../records/projects.ts';
import {
  changeVariable,
  countVariables,
  deleteVariable,
  holdVariable,
  listVariables,
  setVariable,
  toVariable,
  variableScopes,
  type VariableInput,
  type VariableRow,
} from '../../records/variables.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { Id, nullable, Timestamp } from '../../http/schemas.ts';

const IMPORT_MAX = 500;
const Key = Type.String({ maxLength: 128, pattern: '^[A-Za-z_][A-Za-z0-9_]*$' });
const Scope = Type.Enum([...variableScopes]);
const Kind = Type.Enum(['plaintext', 'secret']);
const Branch = Type.String({ minLength: 1, maxLength: 255 });
const Value = Type.String({ maxLength: 1024 * 1024 });
const Variable = Type.Object({
  id: Id,
  key: Type.String(),
  scope: Scope,
  branch: nullable(Type.String()),
  kind: Kind,
  // Null means a secret, whose value is never returned.
  value: nullable(Type.String()),
  createdBy: nullable(Type.String()),
  createdAt: Timestamp,
  updatedAt: Timestamp,
});
const Input = Type.Object(
  {
    key: Key,
    value: Value,
    kind: Type.Optional(Kind),
    scope: Type.Optional(Scope),
    branch: Type.Optional(Branch),
  },
  { additionalProperties: false },
);
const tags = ['environment variables'];

interface Given {
  readonly key: string;
  readonly value: string;
  readonly kind?: 'plaintext' | 'secret' | undefined;
  readonly scope?: VariableInput['scope'] | undefined;
  readonly branch?: string | undefined;
}

/** The variable to set; by default a secret for production. @throws {ApiError} */
function toInput({ key, value, kind = 'secret', branch, scope }: Given, bytesMax: number): VariableInput {
  const chosen = scope ?? (branch === undefined ? 'production' : 'branch');
  if ((chosen === 'branch') !== (branch !== undefined))
    throw new ApiError('unprocessable', {
      reason: `${key}: the scope branch requires a branch, and other scopes must not have one`,
    });
  if (key.startsWith('PLATFORM_'))
    throw new ApiError('unprocessable', { reason: `${key}: names that begin with PLATFORM_ are reserved` });
  checkValue(key, value, bytesMax);
  return { key, value, kind, scope: chosen, branch: branch ?? '' };
}

function checkValue(key: string, value: string, bytesMax: number): void {
  const bytes = Buffer.byteLength(value);
  if (bytes > bytesMax)
    throw new ApiError('unprocessable', {
      reason: `${key}: the value has ${bytes} bytes, the limit is ${bytesMax}`,
    });
  if (value.includes('\0'))
    throw new ApiError('unprocessable', { reason: `${key}: the value must not contain U+0000` });
}

/** Changes variables of a project and writes the audit log entries in the same transaction. */
async function change<Result>(
  ctx: { readonly env: Dependencies; readonly state: RequestState },
  { projectId, organizationId, actor }: Reached,
  action: string,
  work: (tx: Transaction) => Promise<Changed<Result>>,
): Promise<Result> {
  return ctx.env.sql.begin(async (tx) => {
    await tx`SELECT 1 FROM control.project WHERE id = ${projectId} FOR UPDATE`;
    const { result, subjectId, details, places } = await work(tx);
    // Marks the route record as outdated, for the next deployment.
    await changeProject(tx, projectId, { settings: {} });
    const event = { organizationId, projectId, action, subjectKind: 'variable', subjectId, details };
    await ctx.state.audit(tx, event);
    // Live deployments keep their variables until they are redeployed, which is automatic if the project's settings say
    // so.
    await redeployOnVariables(tx, projectId, places, actor.accountId, ctx.state.audit);
    return result;
  }) as Promise<Result>;
}

/** Result of a change of variables. */
interface Changed<Result> {
  readonly result: Result;
  readonly subjectId: string;
  readonly details: Record<string, string | string[]>;
  /** Scopes of the changed variables. */
  readonly places: readonly ChangedVariables[];
}

async function checkRoom(tx: Transaction, projectId: string, inputs: readonly VariableInput[], allowed: number) {
  for (const place of inputs)
    if ((await countVariables(tx, projectId, place)) > allowed)
      throw new ApiError('limit_reached', { what: 'variables per scope', allowed: `${allowed} (API_VARIABLES_MAX)` });
}

export const variables = platform<Dependencies, RequestState>()
  .get(
    '/environment-variables/:projectId',
    {
      ...needs('variable:read', 'project'),
      tags,
      summary: 'List the variables of a project; values of secrets are omitted',
      response: Type.Object({ items: Type.Array(Variable) }),
    },
    async (ctx) => {
      const rows = await listVariables(ctx.env.sql, ctx.params.projectId);
      return { items: rows.map((row) => toVariable(ctx.env.keys, row)) };
    },
  )
  .post(
    '/environment-variables/:projectId',
    {
      ...needs('variable:write', 'project', ['secret:write']),
      tags,
      summary:
        'Add a variable. By default, a variable is a secret for production. Secrets need the permission secret:write',
      body: Input,
      response: { 201: Variable },
    },
    async (ctx) => {
      const { access } = ctx.state;
      const reached = await access.project('variable:write', ctx.params.projectId);
      const input = toInput(ctx.body, ctx.env.limits.variableBytesMax);
      if (input.kind === 'secret') await access.project('secret:write', reached.projectId);
      const row = await change(ctx, reached, 'variable.create', async (tx) => {
        const { keys, limits } = ctx.env;
        const made = await setVariable(tx, keys, reached.projectId, input, reached.actor.accountId, 'keep');
        if (made === null) throw new ApiError('conflict', { reason: `${input.key} already exists in this scope` });
        await checkRoom(tx, reached.projectId, [input], limits.variablesMax);
        const { key, scope, branch, kind } = input;
        return { result: made, subjectId: made.id, details: { key, scope, branch, kind }, places: [input] };
      });
      return ctx.json(toVariable(ctx.env.keys, row), 201);
    },
  )
  .post(
    '/environment-variables/:projectId/import',
    {
      ...needs('variable:write', 'project', ['secret:write']),
      tags,
      summary: 'Set many variables at once, all or none; existing ones are replaced',
      body: Type.Object({ variables: Type.Array(Input, { minItems: 1, maxItems: IMPORT_MAX }) }),
      response: Type.Object({ items: Type.Array(Variable) }),
    },
    async (ctx) => {
      const { access } = ctx.state;
      const reached = await access.project('variable:write', ctx.params.projectId);
      const inputs = ctx.body.variables.map((given) => toInput(given, ctx.env.limits.variableBytesMax));
      const replacesSecret = (existing: readonly VariableRow[], input: VariableInput): boolean =>
        existing.some(
          ({ key, scope, branch, kind }) =>
            kind === 'secret' && key === input.key && scope === input.scope && branch === input.branch,
        );
      const rows = await change(ctx, reached, 'variable.import', async (tx) => {
        const { keys, limits } = ctx.env;
        // The count is read under the lock, so that no other change intervenes.
        const existing = await listVariables(tx, reached.projectId);
        if (inputs.some((input) => input.kind === 'secret' || replacesSecret(existing, input)))
          await access.project('secret:write', reached.projectId);
        const made = [];
        for (const input of inputs)
          made.push((await setVariable(tx, keys, reached.projectId, input, reached.actor.accountId, 'replace'))!);
        await checkRoom(tx, reached.projectId, inputs, limits.variablesMax);
        const details = { keys: inputs.map(({ key, scope }) => `${scope}:${key}`) };
        return { result: made, subjectId: reached.projectId, details, places: inputs };
      });
      return { items: rows.map((row) => toVariable(ctx.env.keys, row)) };
    },
  )
  .patch(
    '/environment-variables/:projectId/:variableId',
    {
      ...needs('variable:write', 'project', ['secret:write']),
      tags,
      summary: 'Change the value or the kind of a variable; a secret becomes plaintext only with a new value',
      body: Type.Object(
        { value: Type.Optional(Value), kind: Type.Optional(Kind) },
        { additionalProperties: false, minProperties: 1 },
      ),
      response: Variable,
    },
    async (ctx) => {
      const { access } = ctx.state;
      const { value, kind } = ctx.body;
      const reached = await access.project('variable:write', ctx.params.projectId);
      const row = await change(ctx, reached, 'variable.update', async (tx) => {
        const before = await holdVariable(tx, reached.projectId, ctx.params.variableId);
        if (before === null) throw new ApiError('not_found');
        if (before.kind === 'secret' || kind === 'secret') await access.project('secret:write', reached.projectId);
        if (before.kind === 'secret' && kind === 'plaintext' && value === undefined)
          throw new ApiError('unprocessable', { reason: 'A secret can only become plaintext with a new value' });
        if (value !== undefined) checkValue(before.key, value, ctx.env.limits.variableBytesMax);
        const changed = await changeVariable(tx, ctx.env.keys, before, { value, kind });
        const { key, scope, branch } = changed;
        const details = { key, scope, branch, kind: changed.kind };
        return { result: changed, subjectId: changed.id, details, places: [before] };
      });
      return toVariable(ctx.env.keys, row);
    },
  )
  .delete(
    '/environment-variables/:projectId/:variableId',
    {
      ...needs('variable:write', 'project', ['secret:write']),
      tags,
      summary: 'Delete a variable',
      response: { 204: null },
    },
    async (ctx) => {
      const { access } = ctx.state;
      const reached = await access.project('variable:write', ctx.params.projectId);
      await change(ctx, reached, 'variable.delete', async (tx) => {
        const before = await holdVariable(tx, reached.projectId, ctx.params.variableId);
        if (before === null) throw new ApiError('not_found');
        if (before.kind === 'secret') await access.project('secret:write', reached.projectId);
        await deleteVariable(tx, before.id);
        const { key, scope, branch } = before;
        return { result: null, subjectId: before.id, details: { key, scope, branch }, places: [before] };
      });
      return ctx.json(null, 204);
    },
  );
