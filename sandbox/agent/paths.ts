// Maps paths of callers to paths of this machine. On a machine that is only a sandbox, both paths are the same; a
// confined agent has only the workspace.
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '#core/errors.ts';
import { WORKSPACE } from '#core/sandbox/operations.ts';
import type { AgentSettings } from './settings.ts';

/** A path in the sandbox. */
export interface SandboxPath {
  /** On this machine. */
  readonly real: string;
  /** The absolute path for callers. */
  readonly shown: string;
}

export interface Paths {
  /**
   * Resolves relative paths from the workspace. @throws {PlatformError} `file_forbidden` outside the allowed folders.
   */
  resolve(written: string, from?: string): Promise<SandboxPath>;
  /** The workspace itself. */
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
          reason: `sandboxes without isolation can only use files below ${WORKSPACE}`,
        });
      return { real, shown };
    },
  };
}

/**
 * Whether a file is inside a folder, also after following symbolic links. Races are not prevented, since commands are
 * not confined either.
 */
async function isInside(file: string, folder: string): Promise<boolean> {
  const root = await realpath(folder);
  if (file !== folder && !file.startsWith(`${folder}/`)) return false;
  for (let at = file; ; at = path.dirname(at)) {
    try {
      const found = await realpath(at);
      return found === root || found.startsWith(`${root}/`);
    } catch {
      // The file does not exist: check its parents. A dangling link is refused, since a write would follow it.
      if (at === folder || at === '/') return at === folder;
    }
  }
}
