// What a commit that was pushed says of itself, for lists of deployments.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { repositoryFolder } from '#git/builtin-repositories.ts';
import { gitEnvironment } from './repositories.ts';

const run = promisify(execFile);
const TEXT_CHARS_MAX = 500;

/** First line of its message, and its author's name. */
export async function describePush(
  dataFolder: string,
  repositoryId: string,
  commit: string,
): Promise<{ readonly message: string; readonly author: string }> {
  const { stdout } = await run(
    'git',
    ['--git-dir', repositoryFolder(dataFolder, repositoryId), 'log', '-1', '--format=%s%x00%an', commit, '--'],
    { env: gitEnvironment(), maxBuffer: 1024 * 1024 },
  );
  const [message = '', author = ''] = stdout.trim().split('\0');
  return { message: message.slice(0, TEXT_CHARS_MAX), author: author.slice(0, TEXT_CHARS_MAX) };
}
