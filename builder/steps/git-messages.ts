// Converts Git's fetch errors to build failures with the fix. Pure. Called by checkout.ts.
import type { Failure } from '#core/failure.ts';
import { buildFailure } from './types.ts';
import type { FencedExit } from './fence.ts';

/** The requested branch and commit. */
interface FetchPlace {
  readonly branch: string;
  readonly commit: string | null;
  readonly bytesMax: number;
}

/** Whether a server does not serve single commits, or does not have this commit. */
export function isRefused(text: string): boolean {
  return /not our ref|does not allow request for unadvertised object|no such remote ref|couldn't find remote ref|unadvertised/i.test(
    text,
  );
}

/** Whether the branch does not exist. */
export function isNotFound(text: string): boolean {
  return /couldn't find remote ref|no such remote ref/i.test(text);
}

/** The failure of a fetch, without URL and credentials. */
export function fetchFailure(
  { stderr, signal }: FencedExit,
  { branch, commit, bytesMax }: FetchPlace,
): Failure<'build'> {
  if (signal === 'SIGXFSZ' || /File too large|signal 25|died of signal|SIGXFSZ/i.test(stderr))
    return buildFailure('source_too_large', `The commit is larger than ${bytesMax} bytes (BUILD_SOURCE_BYTES_MAX)`);
  if (commit !== null && isRefused(stderr))
    return buildFailure(
      'commit_not_found',
      `The commit ${commit} is not in the repository any more: the branch ${branch} was changed by a force push, or deleted`,
    );
  if (isNotFound(stderr))
    return buildFailure('repository_empty', `The repository has no branch ${branch}, or no commit on it`);
  if (/Authentication failed|could not read Username|could not read Password|Permission denied|403|401/i.test(stderr))
    return buildFailure('repository_unavailable', 'The repository cannot be read: the Git host refuses access to it');
  if (/not found|does not appear to be a git repository|repository .* does not exist|404/i.test(stderr))
    return buildFailure('repository_unavailable', 'The repository does not exist any more, or access to it is denied');
  if (/unable to update url base from redirection|redirect|30[1278]/i.test(stderr))
    return buildFailure(
      'repository_unavailable',
      'The Git host redirects to another address: connect the repository with its current address',
    );
  if (/fsck|fatal: .*object .*(?:bad|zero-padded|missing)|contains '\.git'|hasDot|invalid path/i.test(stderr))
    return buildFailure('source_unsafe', `The repository contains objects that Git refuses: ${reasonOf(stderr)}`);
  return buildFailure('repository_unavailable', `The repository cannot be fetched: ${reasonOf(stderr)}`);
}

/** The line with the reason, without URLs. */
function reasonOf(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  // ssh's message before Git failed.
  const plain = lines.filter(
    (line) => !/^fatal: Could not read from remote|^Please make sure|^and the repo/.test(line),
  );
  const told =
    plain.find((line) => /^(?:fatal|error|ssh):|verification failed/.test(line)) ?? plain[0] ?? lines[0] ?? '';
  return (told || 'Git gave no reason')
    .replace(/\p{Cc}/gu, ' ')
    .replace(/\b[a-z][a-z0-9+.-]*:\/\/[^\s']+/gi, 'the repository')
    .slice(0, 300);
}
