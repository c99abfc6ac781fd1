// Which sandbox a command is about, as a path of the API. For the commands of this folder.
import { needResource, resourceFlags, type FoundResource, type ResourceFlags } from '../../api/resource.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';

/** Flags of commands that are about one sandbox. */
export const sandboxFlags = {
  binding: {
    type: 'string',
    valueHint: 'name',
    description: 'Binding or name of the sandboxes (default: the only one)',
  },
  ...resourceFlags,
} as const;

/** The positional that names it. */
export const sandboxId = {
  id: { type: 'positional', required: true, description: 'Its id, as the worker gives it to get()' },
} as const;

export const PORT_MAX = 65_535;

/** Their values. */
interface SandboxFlags extends ResourceFlags {
  readonly id: string;
  readonly binding?: string | undefined;
}

/** @throws {CliError} for an id that none can have. */
export function checkSandboxId(id: string, what: 'sandbox' | 'snapshot'): void {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(id)) return;
  throw new CliError(`"${id}" is no id of a ${what}`, {
    exitCode: 2,
    advice: 'It has at most 63 letters, digits, ".", "_" and "-", and begins with a letter or a digit.',
  });
}

/** @throws {CliError} for an id that no sandbox can have, and where there is no such binding. */
export async function needSandbox(shell: Shell, flags: SandboxFlags, command: string): Promise<FoundResource> {
  const { id } = flags;
  checkSandboxId(id, 'sandbox');
  const found = await needResource(shell, flags, 'sandbox', flags.binding, command);
  return { ...found, path: `${found.path}/${id}` };
}

/** Where the snapshots of a binding are. @throws {CliError} where there is no such binding. */
export async function needSnapshots(
  shell: Shell,
  flags: Omit<SandboxFlags, 'id'>,
  command: string,
): Promise<FoundResource> {
  const found = await needResource(shell, flags, 'sandbox', flags.binding, command);
  return { ...found, path: found.path.replace(/\/sandboxes(?=\/[^/]+$)/, '/sandbox-snapshots') };
}

/** Says it as a command does where the API finds nothing. */
export function sayMissing(what: string, advice: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof CliError) || !['not_found', 'file_not_found'].includes(error.code ?? '')) throw error;
    throw new CliError(what, { advice, code: error.code });
  };
}
