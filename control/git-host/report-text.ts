// Texts that the Git host shows for a deployment: the commit status and the comment on the pull request. These texts
// contain no text of users except names of projects, which are plain text. Pure.
import type { CommitStatus } from '#git/host/access.ts';
import type { GuardedState } from '../records/guarded-releases.ts';

/** The fields of a deployment that are reported. */
export interface ReportedDeployment {
  readonly status: string;
  readonly reason: string | null;
  readonly errorMessage: string | null;
  readonly isFork: boolean;
  readonly isApproved: boolean;
  /**
   * The deployment's newest guarded release; absent if the deployment has no guarded release, or became production
   * after it.
   */
  readonly guarded?: {
    readonly state: GuardedState;
    /** Current share of the visitors. */
    readonly percent: number;
    readonly reason: string | null;
  };
}

type Status = Pick<CommitStatus, 'state' | 'description'>;

const DESCRIPTION_CHARS_MAX = 140;

/** The commit status of a deployment. */
export function commitStatus(deployment: ReportedDeployment): Status {
  const { status, reason } = deployment;
  const of = (state: CommitStatus['state'], description: string): Status => ({
    state,
    description: description.slice(0, DESCRIPTION_CHARS_MAX),
  });
  switch (status) {
    case 'queued':
      return of('pending', waits(deployment) ? 'Waiting for approval by a member' : 'Waiting for a builder');
    case 'success':
      return guardedStatus(deployment, of) ?? of('success', 'Deployed');
    case 'failure':
      return of('failure', `Failed${reason === null ? '' : `: ${reason.replaceAll('_', ' ')}`}`);
    case 'timeout':
      return of('failure', 'The build took too long');
    case 'canceled':
      if (reason === 'skipped') return of('success', `Skipped: ${deployment.errorMessage ?? 'nothing to deploy'}`);
      return of('error', reason === 'superseded' ? 'Superseded by a newer commit' : 'Canceled');
    default:
      return of('pending', 'In progress');
  }
}

/** The status of a deployment whose guarded release runs or has failed, or null. */
function guardedStatus(
  { guarded }: ReportedDeployment,
  of: (state: CommitStatus['state'], description: string) => Status,
): Status | null {
  switch (guarded?.state) {
    case 'running':
      return of('pending', `Guarded release: ${guarded.percent} % of the visitors`);
    case 'rolled_back':
      return of('failure', `Rolled back. ${guarded.reason ?? ''}`.trim());
    case 'canceled':
      return of('error', `Guarded release canceled: ${guarded.reason ?? ''}`);
    default:
      return null;
  }
}

function waits({ isFork, isApproved }: ReportedDeployment): boolean {
  return isFork && !isApproved;
}

/** A project's line in the comment. */
export interface CommentLine extends ReportedDeployment {
  readonly project: string;
  readonly commit: string;
  /** URL of the branch's newest deployment that is served, or null. */
  readonly url: string | null;
  readonly logUrl: string;
  /** Null while the deployment is in progress. */
  readonly endedAt: Date | null;
}

/** Hidden marker at the start of the platform's comments, by which they are found again. */
export function commentMark(repositoryId: string): string {
  return `<!-- platform ${repositoryId} -->`;
}

/** The comment of a pull request, with a line for each project. */
export function commentBody(repositoryId: string, lines: readonly CommentLine[]): string {
  const rows = lines.map((line) => {
    const time = line.endedAt === null ? '' : `${line.endedAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
    const preview = line.url === null ? '' : `[Visit](${line.url})`;
    return `| ${line.project} | ${stateText(line)} ([log](${line.logUrl})) | ${preview} | ${line.commit.slice(0, 7)} | ${time} |`;
  });
  return [
    commentMark(repositoryId),
    '| Project | Status | Preview | Commit | Ended |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}

function stateText(line: CommentLine): string {
  const { state, description } = commitStatus(line);
  const word = { pending: '🕓', success: '✅', failure: '❌', error: '⚪' }[state];
  return `${word} ${description.replaceAll('|', '\\|').replaceAll('[', '\\[')}`;
}
