// What the value of a project's variable is sealed for (core/encryption.ts): moved to another project, scope or key, it
// cannot be unsealed. Read by whoever seals or unseals one. Pure.

/** Where a variable is: `branch` is '' but for scope `branch`. */
export interface VariablePlace {
  readonly projectId: string;
  readonly scope: string;
  readonly branch: string;
  readonly key: string;
}

/** @example unseal(keys, row.value, variableContext({ projectId, scope, branch, key })) */
export function variableContext({ projectId, scope, branch, key }: VariablePlace): string {
  return `variable:${projectId}:${scope}:${branch}:${key}`;
}
