// Resolves the sources of a build from its repository's row. Credentials are read here for one fetch, and only passed
// to the checkout and to the masks of the log.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { buildFailure, type BuildSource } from '../../steps/types.ts';
import type { RepositoryRow } from './build-input.ts';

/** A source, and the secrets to mask in logs. */
interface FoundSource {
  readonly source: BuildSource;
  readonly secrets: readonly string[];
}

/** Resolves the source of a remote repository. @throws {Failure} `build` */
export type FindRemote = (repository: RepositoryRow) => Promise<FoundSource>;

/** @throws {Failure} `build` with the fix. */
export async function findSource(
  repository: RepositoryRow | null,
  folder: string,
  findRemote: FindRemote,
): Promise<FoundSource> {
  if (repository === null)
    throw buildFailure('repository_unavailable', 'The project has no repository any more: connect one');
  if (repository.disconnectReason !== null)
    throw buildFailure(
      'repository_unavailable',
      `${repository.fullName} is not connected any more (${repository.disconnectReason}): connect it again`,
    );
  if (repository.source !== 'builtin') return findRemote(repository);
  const bare = join(folder, 'repositories', `${repository.id}.git`);
  if (!existsSync(bare))
    throw buildFailure('repository_unavailable', 'Nothing has been pushed to the repository of the platform yet');
  return { source: { folder: bare }, secrets: [] };
}

/**
 * Sources for a sandbox are fetched with read-only credentials for this repository only, from an installation of the
 * Git host's application. The platform's own repositories need no credentials.
 *
 * @throws {Failure} `build` with the fix.
 */
export function refuseUnscoped(repository: RepositoryRow | null): void {
  if (repository === null || repository.source === 'builtin') return;
  const isHosted = repository.source === 'git-host' && repository.gitHostId === null;
  if (isHosted && repository.installationId !== null) return;
  const why = isHosted
    ? 'the application of the Git host is not installed for it'
    : repository.source === 'git-host'
      ? 'it is connected by an access token, which also reaches other repositories'
      : 'it is connected by its address, not by the application of a Git host';
  throw buildFailure(
    'credentials_not_scoped',
    `${repository.fullName} is not built in a sandbox: ${why}, and only that gives credentials which read this repository and nothing else. Connect it through the Git host's application`,
  );
}
