// Decides whether a project is served by its framework's dev server, and how to start it. Called by commands/dev.ts.
import { devCommand } from '#builder/frameworks/commands.ts';
import { frameworks } from '#builder/frameworks/table.ts';
import type { Project } from '../../project/project.ts';
import { detectIn } from '../../project/resolved-config.ts';
import { CliError } from '../../terminal/failure.ts';

/** How to start a project's dev server. */
export interface ServerPlan {
  /** Name of the framework or the script. */
  readonly name: string;
  /** The command line for `sh -c`. */
  command(address: { readonly host: string; readonly port: number }): string;
  /** Whether the framework reads `.env` files itself. */
  readonly readsVariables: boolean;
  /** Whether changes require a restart, because the server does not watch its sources. */
  readonly restartsOnSave: boolean;
}

/** Frameworks that read `.env` files themselves. */
const READ_VARIABLES = new Set([
  'astro',
  'gatsby',
  'next',
  'nitro',
  'nuxt',
  'react-router',
  'remix',
  'sveltekit',
  'vinext',
]);

/**
 * The dev server of a project; null if `platform dev` serves it itself, as for workers and plain static files.
 *
 * @throws {CliError} for `kind: ssr` without a start command.
 */
export function planServer({
  root,
  workspace,
  config,
}: Pick<Project, 'root' | 'workspace' | 'config'>): ServerPlan | null {
  if (config.main !== null && config.kind !== 'ssr') return null;
  const { framework, kind, dev, main, isMainBuilt, start } = detectIn({ root, workspace });
  const isServer = (config.kind ?? kind) === 'ssr';
  if (!isServer) {
    if (main !== null && !isMainBuilt && config.kind !== 'static') return null;
    if (frameworks.find(({ id }) => id === framework?.id)?.dev == null) return null;
  }
  if (dev === null) {
    if (!isServer) return null;
    if (start === null)
      throw new CliError('No dev command found for this Node project', {
        advice: 'Add a "dev" script to package.json that starts the server on the port in the variable PORT.',
      });
    return { name: start, command: () => start, readsVariables: false, restartsOnSave: true };
  }
  return {
    name: framework?.name ?? dev.command,
    command: (address) => devCommand(dev, address),
    readsVariables: framework !== null && READ_VARIABLES.has(framework.id),
    restartsOnSave: false,
  };
}
