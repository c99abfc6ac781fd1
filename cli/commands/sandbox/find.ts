// Resolves the sandbox of a command to an API path. Used by the commands of this folder.
import { needResource, resourceFlags, type FoundResource, type ResourceFlags } from '../../api/resource.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';

/** Flags of commands for one sandbox. */
export const sandboxFlags = {
  binding: {
    type: 'string',
    valueHint: 'name',
    description: 'Binding or name of the sandboxes (default: the only one)',
  },
  ...resourceFlags,
} as const;

/** Positional argument of the sandbox. */
export const sandboxId = {
  id: { type: 'positional', required: true, description: 'ID, as passed to get() in the worker' },
} as const;

export const PORT_MAX = 65_535;

/** Values of the flags. */
interface SandboxFlags extends ResourceFlags {
  readonly id: string;
  readonly binding?: string | undefined;
}

/** @throws {CliError} for an invalid ID. */
export function checkSandboxId(id: string, what: 'sandbox' | 'snapshot'): void {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(id)) return;
  throw new CliError(`Invalid ${what} ID "${id}"`, {
    exitCode: 2,
    advice: 'Use at most 63 letters, digits, ".", "_" and "-", starting with a letter or a digit.',
  });
}

/** @throws {CliError} for an invalid ID or an unknown binding. */
export async function needSandbox(shell: Shell, flags: SandboxFlags, command: string): Promise<FoundResource> {
  const { id } = flags;
  checkSandboxId(id, 'sandbox');
  const found = await needResource(shell, flags, 'sandbox', flags.binding, command);
  return { ...found, path: `${found.path}/${id}` };
}

/** API path of the snapshots of a binding. @throws {CliError} for an unknown binding. */
export async function needSnapshots(
  shell: Shell,
  flags: Omit<SandboxFlags, 'id'>,
  command: string,
): Promise<FoundResource> {
  const found = await needResource(shell, flags, 'sandbox', flags.binding, command);
  return { ...found, path: found.path.replace(/\/sandboxes(?=\/[^/]+$)/, '/sandbox-snapshots') };
}

/** Replaces the "not found" error of the API with an error that names the sandbox. */
export function sayMissing(what: string, advice: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof CliError) || !['not_found', 'file_not_found'].includes(error.code ?? '')) throw error;
    throw new CliError(what, { advice, code: error.code });
  };
}
