// The sandbox of a project and branch. Pure. Called by builder/service/.
import { createHash } from 'node:crypto';
import { BUILD_RESOURCE, type SandboxPlace } from '#core/sandbox/operations.ts';

const SLUG_CHARS_MAX = 40;
const HASH_CHARS = 16;

/**
 * Always includes a hash of the branch, so that similar names never share a sandbox.
 *
 * @example buildPlace('shop', 'Feature/Login').id // 'feature-login-' + 16 hex digits
 */
export function buildPlace(project: string, branch: string): SandboxPlace {
  const plain = branch
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, SLUG_CHARS_MAX)
    .replace(/^-+|-+$/g, '');
  const hash = createHash('sha256').update(branch).digest('hex').slice(0, HASH_CHARS);
  return { project, resource: BUILD_RESOURCE, id: plain === '' ? hash : `${plain}-${hash}` };
}
