// Programs of ours that commands in sandboxes find in PATH, behind all others: what a sandbox's image has goes before.
import path from 'node:path';

/** Paths from the repository's root. */
export const OWN_PROGRAMS = ['sandbox/agent/programs/platform-ai-token'] as const;

/** What shells search where nothing says it. */
const PATH_DEFAULT = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** @param searched the PATH that commands have otherwise. */
export function pathWithOwn(searched: string | undefined): string {
  return `${searched || PATH_DEFAULT}:${path.join(import.meta.dirname, 'programs')}`;
}
