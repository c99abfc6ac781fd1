// Reads environment variables for a sandbox from a file, which keeps them out of process lists. For this folder.
import path from 'node:path';
import { readVariableFile } from '../../project/variables.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';

/** @throws {CliError} if the file does not exist. */
export function variablesIn(shell: Shell, file: string): Readonly<Record<string, string>> {
  const values = readVariableFile(path.resolve(shell.cwd, file), (text) => shell.err(shell.paint('yellow', text)));
  if (values === null)
    throw new CliError(`There is no file ${file}`, { exitCode: 2, advice: 'Pass a file with NAME=value lines.' });
  return values;
}
