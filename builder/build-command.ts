// Runs the `build` command of a project. Called by build.ts. The command is the project's own code: it gets a small
// environment, none of the platform's variables.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, join } from 'node:path';
import { BuildError } from './build-error.ts';

/** Variables of the caller that a build may see. */
const inherited = ['HOME', 'LANG', 'LC_ALL', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER'];

/** Output kept for the error message. */
const tailCharsMax = 2000;

/**
 * Runs `sh -c <command>` in a folder until it ends.
 *
 * @param onOutput gets what it writes to stdout and stderr, as it comes
 * @param environment variables of the project, added to the small set every build gets
 * @throws {BuildError} `command_failed` when it cannot start, exits with another code than 0, or is killed.
 */
export async function runBuildCommand(
  command: string,
  folder: string,
  onOutput: (text: string) => void,
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  let tail = '';
  const child = spawn('sh', ['-c', command], {
    cwd: folder,
    env: buildEnvironment(folder, environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      tail = (tail + text).slice(-tailCharsMax);
      onOutput(text);
    });
  }
  const [code, signal] = (await once(child, 'close').catch((error: unknown) => {
    throw new BuildError('command_failed', `The build command cannot be started: ${(error as Error).message}`, { cause: error });
  })) as [number | null, string | null];
  if (code === 0) return;
  const end = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
  throw new BuildError('command_failed', `The build command "${command}" ${end}${tail.trim() === '' ? '' : `:\n${tail.trim()}`}`);
}

function buildEnvironment(folder: string, own: Readonly<Record<string, string>>): Record<string, string> {
  const environment: Record<string, string> = { CI: '1', NODE_ENV: 'production' };
  for (const name of inherited) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  // As `npm run` does: the project's own tools are found by their names.
  environment['PATH'] = [join(folder, 'node_modules', '.bin'), environment['PATH'] ?? ''].filter((part) => part !== '').join(delimiter);
  return { ...environment, ...own };
}
