// Local variables of a project: `.env`, overridden by `.env.local` and `.dev.vars`. Node's parser supports quotes,
// comments, `export` and multi-line values.
import path from 'node:path';
import { parseEnv } from 'node:util';
import { isFailure } from '#core/failure.ts';
import { readTextSync } from '#core/text-file.ts';
import { CliError } from '../terminal/failure.ts';

/** Variable files; later files take precedence. */
export const variableFiles = ['.env', '.env.local', '.dev.vars'] as const;

/** Receives warnings. */
type Warn = (text: string) => void;

/** Variables of a project's folder. */
export function readVariables(folder: string, warn?: Warn): Record<string, string> {
  return Object.assign(
    {},
    ...variableFiles.map((name) => readVariableFile(path.join(folder, name), warn) ?? {}),
  ) as Record<string, string>;
}

/**
 * Variables of a file; null if it does not exist.
 *
 * @param warn gets a warning for each unquoted value that is cut at `#`.
 * @throws {CliError} for a file in an unknown encoding.
 */
export function readVariableFile(file: string, warn?: Warn): Record<string, string> | null {
  let text: string;
  try {
    text = readTextSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    if (isFailure(error, 'text_encoding')) throw new CliError(error.message);
    throw error;
  }
  for (const { name, line } of warn === undefined ? [] : cutValues(text))
    warn!(
      `${path.basename(file)}:${line}: the value of ${name} ends at "#", which starts a comment; quote the value to keep it: ${name}="..."`,
    );
  return parseEnv(text) as Record<string, string>;
}

/** An assignment, possibly multi-line: name, value, rest. */
const ASSIGNMENT = /^\s*(?:export\s+)?([\w.-]+)[^\S\n]*=[^\S\n]*('[^']*'|"[^"]*"|`[^`]*`|[^#\n]*)(.*)$/gm;

/** Finds unquoted values directly followed by `#`, as in `COLOR=#fff`. A `#` after a space is a comment on purpose. */
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

/** Whether a variable name is valid. */
export function isVariableName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]{0,255}$/.test(name);
}

/** Formats variables as a file that Node's parser and `platform dev` can read. @throws {CliError} */
export function toVariableFile(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([key, value]) => `${key}=${quoted(key, value)}\n`)
    .join('');
}

/** The parser supports three kinds of quotes, without escapes. */
function quoted(name: string, value: string): string {
  const quote = [`'`, '`', '"'].find((mark) => !value.includes(mark) && !(mark === '"' && value.includes('\\')));
  if (quote === undefined) throw new CliError(`Cannot write ${name} to a file: its value contains all kinds of quotes`);
  return `${quote}${value}${quote}`;
}
