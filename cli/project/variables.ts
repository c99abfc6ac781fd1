// Variables of a project on this machine: `.env`, then `.env.local` and `.dev.vars` over it. Node's own parser reads
// quotes, comments, `export` and values over several lines.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';

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
