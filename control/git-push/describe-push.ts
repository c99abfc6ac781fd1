// Message and author of a pushed commit, for lists of deployments.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { repositoryFolder } from '#git/builtin-repositories.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { limitedGit, gitEnvironment } from '../repositories/repositories.ts';

const run = promisify(execFile);
const TEXT_CHARS_MAX = 500;
const OUTPUT_BYTES_MAX = 64 * 1024;

/** First line of the message, and the author's name, both truncated: they can be megabytes long. */
export async function describePush(
  { folder, limits }: Pick<Dependencies, 'folder' | 'limits'>,
  repositoryId: string,
  commit: string,
): Promise<{ readonly message: string; readonly author: string }> {
  const { stdout } = await run(
    ...limitedGit(limits, [
      '--git-dir',
      repositoryFolder(folder, repositoryId),
      'log',
      '-1',
      // Without this option, Git reads a .mailmap of any size from the repository.
      '--no-mailmap',
      '--format=%an%x00%s',
      commit,
      '--',
    ]),
    { env: gitEnvironment(), maxBuffer: OUTPUT_BYTES_MAX },
  ).catch((error: { code?: unknown; stdout: string }) => {
    if (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return error;
    throw error;
  });
  const [author = '', message = ''] = stdout.trim().split('\0');
  return { message: message.slice(0, TEXT_CHARS_MAX), author: author.slice(0, TEXT_CHARS_MAX) };
}
