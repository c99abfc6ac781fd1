// Rules for names in hosts, paths and configuration. Pure.
import { createHash } from 'node:crypto';
import { bindingName } from './bindings/schemas.ts';

const BINDING_NAME = new RegExp(bindingName.pattern);

/** Project: lower-case letters, digits and single hyphens; at most 40 characters; no `--` (it separates host parts). */
export function isProjectName(value: string): boolean {
  return value.length <= 40 && /^[a-z0-9](?:-?[a-z0-9])*$/.test(value);
}

/** Deployment id: `d` and twelve of `[0-9a-z]`. */
export function isDeploymentId(value: string): boolean {
  return /^d[0-9a-z]{12}$/.test(value);
}

/** Artifact id: SHA-256 in hex, the content address of the manifest. */
export function isArtifactId(value: string): boolean {
  return /^[0-9a-f]{64}$/.test(value);
}

/** A binding name in `platform.yaml` and in `env`: `DB`, `MY_QUEUE_2`, `rooms`. */
export function isBindingName(value: string): boolean {
  return BINDING_NAME.test(value);
}

/** A resource name in `platform.yaml`: `users`, `email_queue`. */
export function isResourceName(value: string): boolean {
  return value.length <= 64 && /^[a-z][a-z0-9_]*$/.test(value);
}

/**
 * The host label of a branch deployment, `<project>--<slug>`, at most 63 bytes. A branch whose slug is truncated or
 * changed gets a hash suffix, so that two branches never share a host.
 *
 * @example branchSlug('main', 'shop') // 'main'
 * @example branchSlug('Feature/Login', 'shop') // 'feature-login-' + 6 hex digits
 */
export function branchSlug(branch: string, project: string): string {
  const room = 63 - project.length - 2;
  const plain = branch
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  if (plain === branch && plain.length <= room && !isDeploymentId(plain)) return plain;
  const suffix = createHash('sha256').update(branch).digest('hex').slice(0, 6);
  const cut = plain.slice(0, Math.max(0, room - suffix.length - 1)).replace(/-+$/, '');
  return cut === '' ? suffix : `${cut}-${suffix}`;
}

/**
 * The branch name for deployments of a fork's pull request: Git does not allow colons, so no branch of the repository
 * has it.
 */
export function forkBranch(pullRequest: number): string {
  return `pull:${pullRequest}`;
}

/** Whether a branch is a {@link forkBranch}: untrusted code without access to production. */
export function isForkBranch(branch: string): boolean {
  return branch.startsWith('pull:');
}

/** The pull request number of a {@link forkBranch}; null for any other branch. */
export function pullRequestOf(branch: string): number | null {
  const [, number] = /^pull:([1-9]\d{0,9})$/.exec(branch) ?? [];
  return number === undefined ? null : Number(number);
}
