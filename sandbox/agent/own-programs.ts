// Our programs in the PATH of sandbox commands. Their folder is last in PATH, so that programs of the image take
// precedence.
import path from 'node:path';

/** Paths relative to the repository's root. */
export const OWN_PROGRAMS = ['sandbox/agent/programs/platform-ai-token'] as const;

/** The default PATH of shells. */
const PATH_DEFAULT = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** @param searched the PATH of commands so far. */
export function pathWithOwn(searched: string | undefined): string {
  return `${searched || PATH_DEFAULT}:${path.join(import.meta.dirname, 'programs')}`;
}
