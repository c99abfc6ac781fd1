// Variables for what runs in a sandbox, from a file: in no list of processes. For the commands of this folder.
import path from 'node:path';
import { readVariableFile } from '../../project/variables.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';

/** @throws {CliError} where there is no such file. */
export function variablesIn(shell: Shell, file: string): Readonly<Record<string, string>> {
  const values = readVariableFile(path.resolve(shell.cwd, file), (text) => shell.err(shell.paint('yellow', text)));
  if (values === null)
    throw new CliError(`There is no file ${file}`, { exitCode: 2, advice: 'Name one with NAME=value lines.' });
  return values;
}
