// Generates missing or weak secrets of an installation in a file of variables; all other lines are kept. Called by
// commands/secrets/init.ts; values never leave the file.
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { readTextSync } from '#core/text-file.ts';
import { secretVariables, weaknessOf } from '#core/process/secret-variables.ts';
import { CliError } from '../terminal/failure.ts';

/** Result: names without values. */
interface MadeSecrets {
  readonly file: string;
  /** Generated because they were missing. */
  readonly made: readonly string[];
  /** Replaced because they were weak. */
  readonly replaced: readonly string[];
  readonly kept: readonly string[];
  /** Weak but kept: data may be encrypted with `ENCRYPTION_KEY`. */
  readonly weak: readonly string[];
}

const SECRET_BYTES = 32;
const FILE_BYTES_MAX = 1024 * 1024;

/**
 * Generates missing or weak secrets. The file is replaced atomically, with mode 0600.
 *
 * @param example template of a new file, if it exists.
 * @throws {CliError} if the path is not a regular file, or not writable.
 */
export function makeSecrets(file: string, example: string): MadeSecrets {
  const isNew = !existsSync(file);
  const text = isNew ? (existsSync(example) ? readTextSync(example) : '') : readOwn(file);
  const values = parseEnv(text);
  const made: string[] = [];
  const replaced: string[] = [];
  const kept: string[] = [];
  const weak: string[] = [];
  let lines = text;
  for (const { name, with: needed } of secretVariables) {
    const value = values[name] ?? '';
    if (value === '' && needed !== undefined && (values[needed] ?? '') === '') continue;
    if (value !== '' && weaknessOf(name, value) === null) {
      kept.push(name);
      continue;
    }
    if (value !== '' && name === 'ENCRYPTION_KEY') {
      weak.push(name);
      continue;
    }
    (value === '' ? made : replaced).push(name);
    lines = withLine(lines, name, randomBytes(SECRET_BYTES).toString('hex'));
  }
  if (lines !== text || isNew) replace(file, lines);
  else chmodSync(file, 0o600);
  return { file, made, replaced, kept, weak };
}

/** Replaces the last line with this name, also a commented one; else appends a line. */
function withLine(text: string, name: string, value: string): string {
  const line = `${name}=${value}`;
  const places = [
    ...text.matchAll(new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=.*$`, 'gm')),
    ...text.matchAll(new RegExp(`^#[ \\t]*${name}=[ \\t]*$`, 'gm')),
  ];
  const [first] = places;
  if (first === undefined) return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`;
  // The last of several wins: merge them into one.
  let result = text;
  for (const place of places.toSorted((a, b) => b.index - a.index)) {
    if (place !== first && place[0].trimStart().startsWith('#')) continue;
    result = result.slice(0, place.index) + line + result.slice(place.index + place[0].length);
  }
  return result;
}

function readOwn(file: string): string {
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

/** Replaces the file atomically. */
function replace(file: string, text: string): void {
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
