// Lists commits of a repository on the platform. Called by promotion-preview.ts.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { repositoryFolder } from '#git/builtin-repositories.ts';
import { isCommitSha } from '#git/host/remote-url.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { limitedGit, gitEnvironment } from './repositories.ts';

const run = promisify(execFile);
const LOG_MS = 5000;
const OUTPUT_BYTES_MAX = 256 * 1024;

interface LoggedCommit {
  readonly sha: string;
  readonly author: string;
  /** First line of the commit message. */
  readonly message: string;
}

/**
 * Commits reachable from `to` but not from `from`, the newest first, at most `max`.
 *
 * @returns null if the repository does not have both commits, or Git takes more than five seconds.
 */
export async function logBetween(
  { folder: dataFolder, limits }: Pick<Dependencies, 'folder' | 'limits'>,
  repositoryId: string,
  { from, to, max }: { readonly from: string; readonly to: string; readonly max: number },
): Promise<LoggedCommit[] | null> {
  if (!isCommitSha(from) || !isCommitSha(to)) return null;
  const folder = repositoryFolder(dataFolder, repositoryId);
  const format = '--format=%H%x00%an%x00%s';
  const words = ['--git-dir', folder, 'log', '--no-mailmap', `--max-count=${max}`, format, to, `^${from}`, '--'];
  try {
    const { stdout } = await run(...limitedGit(limits, words), {
      env: gitEnvironment(),
      timeout: LOG_MS,
      maxBuffer: OUTPUT_BYTES_MAX,
    });
    return stdout.split('\n').flatMap((line): LoggedCommit[] => {
      const [sha, author = '', message = ''] = line.split('\0');
      return sha === '' ? [] : [{ sha: sha!, author, message }];
    });
  } catch {
    return null;
  }
}
