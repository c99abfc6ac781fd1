// The variables of a deployment, frozen at its release: a rollback restores them, and changed variables take effect
// with the next release only. Frozen variables are encrypted like the variables themselves.
import { seal, unseal, type EncryptionKeys } from '#core/encryption.ts';
import { AI_TOKEN_VARIABLE, AI_URL_VARIABLE } from '#core/ai-caller.ts';
import { variableContext } from '#core/variable-context.ts';
import type { Transaction } from '#postgres/sql.ts';

type Variables = Readonly<Record<string, string>>;

/** Variables of a deployment as production and as a preview; null if it was not released as such. */
interface FrozenVariables {
  readonly production: Variables | null;
  readonly preview: Variables | null;
  /** Token of the AI gateway; absent if released without `ai: true`, or if it comes from a fork. */
  readonly aiToken?: string;
}

/** A row of `control.variable`. */
export interface VariableRow {
  readonly project_id: string;
  readonly key: string;
  readonly scope: 'production' | 'preview' | 'branch' | 'dev';
  readonly branch: string;
  readonly value: Uint8Array;
}

/** The values of a project's variables by scope. */
interface ScopedVariables {
  readonly production: Variables;
  readonly preview: Variables;
  readonly branches: Readonly<Record<string, Variables>>;
}

/** Decrypts the variables of one project. */
export function scopedVariables(keys: EncryptionKeys, rows: readonly VariableRow[]): ScopedVariables {
  const production: Record<string, string> = {};
  const preview: Record<string, string> = {};
  const branches: Record<string, Record<string, string>> = {};
  for (const { project_id: projectId, key, scope, branch, value } of rows) {
    if (scope === 'dev') continue;
    const text = unseal(keys, value, variableContext({ projectId, scope, branch, key }));
    if (scope === 'production') production[key] = text;
    else if (scope === 'preview') preview[key] = text;
    else (branches[branch] ??= {})[key] = text;
  }
  return { production, preview, branches };
}

/** Variables of a branch's previews. */
export function previewVariables({ preview, branches }: ScopedVariables, branch: string): Variables {
  return { ...preview, ...(Object.hasOwn(branches, branch) ? branches[branch] : {}) };
}

/** Reads the current variables of a project. */
export async function readVariables(
  tx: Transaction,
  keys: EncryptionKeys,
  projectId: string,
): Promise<ScopedVariables> {
  const rows = await tx<VariableRow[]>`
    SELECT project_id, key, scope, branch, value FROM control.variable WHERE project_id = ${projectId} ORDER BY key`;
  return scopedVariables(keys, rows);
}

/** The environment of a worker: its variables, and the address of the AI gateway. @param api `PUBLIC_API_URL` */
export function withAi(vars: Variables, { aiToken }: Pick<FrozenVariables, 'aiToken'>, api: string): Variables {
  if (aiToken === undefined) return vars;
  return { ...vars, [AI_URL_VARIABLE]: `${api}/ai`, [AI_TOKEN_VARIABLE]: aiToken };
}

export function sealFrozen(keys: EncryptionKeys, deploymentId: string, frozen: FrozenVariables): Buffer {
  return seal(keys, JSON.stringify(frozen), frozenContext(deploymentId));
}

export function unsealFrozen(keys: EncryptionKeys, deploymentId: string, sealed: Uint8Array | null): FrozenVariables {
  if (sealed === null) return { production: null, preview: null };
  return JSON.parse(unseal(keys, sealed, frozenContext(deploymentId))) as FrozenVariables;
}

/** Encryption context of the frozen variables. */
export function frozenContext(deploymentId: string): string {
  return `deployment:${deploymentId}`;
}
