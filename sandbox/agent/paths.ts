// From the paths that callers write to those of this machine. A machine that is a sandbox and nothing else has one file
// system for both; a confined agent has the workspace alone.
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '#core/errors.ts';
import { WORKSPACE } from '#core/sandbox/operations.ts';
import type { AgentSettings } from './settings.ts';

/** A place in the sandbox. */
export interface SandboxPath {
  /** On this machine. */
  readonly real: string;
  /** As callers know it: absolute. */
  readonly shown: string;
}

export interface Paths {
  /** Relative paths begin in the workspace. @throws {PlatformError} `file_forbidden` outside of what it may reach. */
  resolve(written: string, from?: string): Promise<SandboxPath>;
  /** The workspace's own. */
  readonly workspace: SandboxPath;
}

export function createPaths({ workspace, confined }: Pick<AgentSettings, 'workspace' | 'confined'>): Paths {
  const toReal = (shown: string): string =>
    shown === WORKSPACE || shown.startsWith(`${WORKSPACE}/`) ? workspace + shown.slice(WORKSPACE.length) : shown;
  return {
    workspace: { real: workspace, shown: WORKSPACE },
    async resolve(written, from = WORKSPACE) {
      const shown = path.posix.resolve(from, written);
      const real = toReal(shown);
      if (confined && !(await isInside(real, workspace)))
        throw new PlatformError('file_forbidden', {
          path: shown,
          action: 'used',
          reason: `these sandboxes do not isolate, so that their files are those below ${WORKSPACE}`,
        });
      return { real, shown };
    },
  };
}

/** Also where a link on the way leads. What changes at the same time is not its concern: commands are not confined. */
async function isInside(file: string, folder: string): Promise<boolean> {
  const root = await realpath(folder);
  if (file !== folder && !file.startsWith(`${folder}/`)) return false;
  for (let at = file; ; at = path.dirname(at)) {
    try {
      const found = await realpath(at);
      return found === root || found.startsWith(`${root}/`);
    } catch {
      // Not there yet: what is above it counts. A link that leads nowhere would be followed by whoever writes.
      if (at === folder || at === '/') return at === folder;
    }
  }
}
