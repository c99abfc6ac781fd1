// Variables of a project on this machine: `.env`, then `.env.local` and `.dev.vars` over it. Node's own parser reads
// quotes, comments, `export` and values over several lines.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { CliError } from '../terminal/failure.ts';

/** Files read for a project, later ones win. */
export const variableFiles = ['.env', '.env.local', '.dev.vars'] as const;

/** The variables in a project's folder; none where no file exists. */
export function readVariables(folder: string): Record<string, string> {
  return Object.assign({}, ...variableFiles.map((name) => readVariableFile(path.join(folder, name)) ?? {})) as Record<
    string,
    string
  >;
}

/** The variables in one file; null where it does not exist. */
export function readVariableFile(file: string): Record<string, string> | null {
  try {
    return parseEnv(readFileSync(file, 'utf8')) as Record<string, string>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Whether a name can be one of a variable. */
export function isVariableName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]{0,255}$/.test(name);
}

/** A file of variables that Node's parser reads back, and `platform dev` with it. @throws {CliError} */
export function toVariableFile(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([key, value]) => `${key}=${quoted(key, value)}\n`)
    .join('');
}

/** The parser knows three kinds of quotes, and no way to write one inside of itself. */
function quoted(name: string, value: string): string {
  const quote = [`'`, '`', '"'].find((mark) => !value.includes(mark) && !(mark === '"' && value.includes('\\')));
  if (quote === undefined)
    throw new CliError(`The value of ${name} holds every kind of quotes: it cannot be written into a file`);
  return `${quote}${value}${quote}`;
}
