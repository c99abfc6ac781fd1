// Variables of a project on this machine: `.env`, then `.env.local` and `.dev.vars` over it. Node's own parser reads
// quotes, comments, `export` and values over several lines.
import path from 'node:path';
import { parseEnv } from 'node:util';
import { readTextSync, TextEncodingError } from '#core/text-file.ts';
import { CliError } from '../terminal/failure.ts';

/** Files read for a project, later ones win. */
export const variableFiles = ['.env', '.env.local', '.dev.vars'] as const;

/** Gets what the author of a file should know. */
export type Warn = (text: string) => void;

/** The variables in a project's folder; none where no file exists. */
export function readVariables(folder: string, warn?: Warn): Record<string, string> {
  return Object.assign(
    {},
    ...variableFiles.map((name) => readVariableFile(path.join(folder, name), warn) ?? {}),
  ) as Record<string, string>;
}

/**
 * The variables in one file; null where it does not exist.
 *
 * @param warn gets a warning for each unquoted value that a `#` cuts.
 * @throws {CliError} for a file in an unknown encoding.
 */
export function readVariableFile(file: string, warn?: Warn): Record<string, string> | null {
  let text: string;
  try {
    text = readTextSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    if (error instanceof TextEncodingError) throw new CliError(error.message);
    throw error;
  }
  for (const { name, line } of warn === undefined ? [] : cutValues(text))
    warn!(
      `${path.basename(file)}:${line}: the value of ${name} ends at "#", where a comment begins; to keep it, write the value in quotes: ${name}="..."`,
    );
  return parseEnv(text) as Record<string, string>;
}

/** A line, or the lines of a quoted value: name, value, and what comes behind it. */
const ASSIGNMENT = /^\s*(?:export\s+)?([\w.-]+)[^\S\n]*=[^\S\n]*('[^']*'|"[^"]*"|`[^`]*`|[^#\n]*)(.*)$/gm;

/** Unquoted values with a `#` right behind them, as in `COLOR=#fff`: behind a blank it is meant as a comment. */
function cutValues(text: string): { name: string; line: number }[] {
  const found: { name: string; line: number }[] = [];
  const plain = text.replaceAll('\r\n', '\n');
  for (const { 0: whole, 1: name, 2: value, 3: rest, index } of plain.matchAll(ASSIGNMENT)) {
    if (!rest!.startsWith('#') || /^['"`]/.test(value!) || /\s$/.test(value!)) continue;
    if (value === '' && /=\s/.test(whole)) continue;
    found.push({ name: name!, line: plain.slice(0, index + whole.indexOf(name!)).split('\n').length });
  }
  return found;
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
