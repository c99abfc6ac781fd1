// Generates missing or weak secrets of an installation in a file of variables; all other lines are kept. The values are
// never printed. Called by commands/secrets/init.ts.
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { readTextSync } from '#core/text-file.ts';
import { secretVariables, weaknessOf } from '#core/process/secret-variables.ts';
import { readOwn, replace, withLine } from './variables-file.ts';

/** Result: names without values. */
interface MadeSecrets {
  readonly file: string;
  /** Secrets that were generated because they were missing. */
  readonly made: readonly string[];
  /** Secrets that were replaced because they were weak. */
  readonly replaced: readonly string[];
  readonly kept: readonly string[];
  /** Weak secrets that were kept, because data may be encrypted with `ENCRYPTION_KEY`. */
  readonly weak: readonly string[];
}

const SECRET_BYTES = 32;

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
