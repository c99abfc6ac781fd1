// A file of variables with secrets (.env, platform.env): read, changed line by line, and replaced atomically.
import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { readTextSync } from '#core/text-file.ts';
import { CliError } from '../terminal/failure.ts';

const FILE_BYTES_MAX = 1024 * 1024;
/** Values that shells and systemd read literally. */
const PLAIN = /^[\w@%+=:,./~-]*$/;

/** The values in a file. @throws {CliError} if the file does not exist, is not a regular file, or is too large. */
export function readVariables(file: string): Record<string, string> {
  if (!existsSync(file)) throw new CliError(`There is no file ${file}`, { advice: 'Choose another with --file.' });
  return { ...(parseEnv(readOwn(file)) as Record<string, string>) };
}

/** Sets variables in a file, and keeps all other lines. @throws {CliError} if the file is not writable. */
export function writeVariables(file: string, variables: Readonly<Record<string, string>>): void {
  let text = existsSync(file) ? readOwn(file) : '';
  const kept = parseEnv(text);
  for (const [name, value] of Object.entries(variables))
    if (kept[name] !== value) text = withLine(text, name, quoted(name, value));
  replace(file, text);
}

function quoted(name: string, value: string): string {
  if (PLAIN.test(value)) return value;
  if (/['\n\r]/.test(value))
    throw new CliError(`${name} has a quote or a line break, which a file of variables cannot hold`, {
      advice: 'Set the variable on this machine by hand.',
    });
  return `'${value}'`;
}

/** Replaces the last line with this name, even a commented one; else appends a line. */
export function withLine(text: string, name: string, value: string): string {
  const line = `${name}=${value}`;
  const places = [
    ...text.matchAll(new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=.*$`, 'gm')),
    ...text.matchAll(new RegExp(`^#[ \\t]*${name}=[ \\t]*$`, 'gm')),
  ];
  const [first] = places;
  if (first === undefined) return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`;
  // If the file sets the variable several times, only the last line counts, so each of the lines gets the new value.
  let result = text;
  for (const place of places.toSorted((a, b) => b.index - a.index)) {
    if (place !== first && place[0].trimStart().startsWith('#')) continue;
    result = result.slice(0, place.index) + line + result.slice(place.index + place[0].length);
  }
  return result;
}

/** @throws {CliError} if the path is not a regular file, or too large. */
export function readOwn(file: string): string {
  const found = lstatSync(file);
  if (!found.isFile())
    throw new CliError(`${file} is not a regular file`, { advice: 'Choose another with --file.', exitCode: 2 });
  if (found.size > FILE_BYTES_MAX)
    throw new CliError(`${file} has more than ${FILE_BYTES_MAX} bytes`, {
      advice: 'Pass a file of variables with --file.',
      exitCode: 2,
    });
  return readTextSync(file);
}

/** Replaces the file atomically, with mode 0600. @throws {CliError} if the file is not writable. */
export function replace(file: string, text: string): void {
  const beside = `${file}.${randomBytes(4).toString('hex')}.unfinished`;
  try {
    writeFileSync(beside, text, { flag: 'wx', mode: 0o600, flush: true });
    renameSync(beside, file);
  } catch (error) {
    rmSync(beside, { force: true });
    throw new CliError(`Could not write ${file}: ${(error as Error).message}`, {
      advice: 'Run the command in a writable folder, or choose another file with --file.',
    });
  }
}
