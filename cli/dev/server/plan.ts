// Whether a project is served by its framework's own dev server, and how that one is started. Called by
// commands/dev.ts.
import { devCommand } from '#builder/frameworks/commands.ts';
import { frameworks } from '#builder/frameworks/table.ts';
import type { Project } from '../../project/project.ts';
import { detectIn } from '../../project/settled.ts';
import { CliError } from '../../terminal/failure.ts';

/** How a project's dev server is started. */
export interface ServerPlan {
  /** Name of the framework, or what is run. */
  readonly name: string;
  /** For `sh -c`. */
  command(address: { readonly host: string; readonly port: number }): string;
  /** It makes variables of `.env` and its like by rules of its own. */
  readonly readsVariables: boolean;
  /** It does not follow its sources: it is started again when one is saved. */
  readonly restartsOnSave: boolean;
}

/** Frameworks that read `.env`, `.env.local` and others themselves. */
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
 * The dev server of a project; null where `platform dev` serves it by itself: it is a worker, or files of no framework.
 *
 * @throws {CliError} for `kind: ssr` where there is nothing to start.
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
      throw new CliError('This project runs in Node, but nothing says how to start it while it is developed', {
        advice: 'Add a script "dev" to package.json that starts its server on the port of the variable PORT.',
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
