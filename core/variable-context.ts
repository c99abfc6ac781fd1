// The context with which a project's variable is encrypted (core/encryption.ts): its value cannot be decrypted for
// another project, scope or key. Used by code that encrypts or decrypts a variable. Pure.

/** Location of a variable: `branch` is '' except for scope `branch`. */
interface VariablePlace {
  readonly projectId: string;
  readonly scope: string;
  readonly branch: string;
  readonly key: string;
}

/** @example unseal(keys, row.value, variableContext({ projectId, scope, branch, key })) */
export function variableContext({ projectId, scope, branch, key }: VariablePlace): string {
  return `variable:${projectId}:${scope}:${branch}:${key}`;
}

/** Encryption context of a setting of the platform that an operator has changed while it runs. */
export function settingContext(name: string): string {
  return `setting:${name}`;
}
