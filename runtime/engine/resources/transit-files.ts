// Files of the data folder that an operation reads or writes, whose paths come from the API.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { invalid } from '../bindings/arguments.ts';

/** @throws {PlatformError} unless the path is an absolute path inside the folder. */
export function toFileIn(folder: string, value: unknown): string {
  if (typeof value !== 'string' || path.resolve(value) !== value || !value.startsWith(`${folder}${path.sep}`))
    throw invalid('file must be a path in the data folder');
  return value;
}

/** @throws {PlatformError} also if the file exists. */
export function toNewFileIn(folder: string, value: unknown): string {
  const file = toFileIn(folder, value);
  if (existsSync(file)) throw invalid('file must be an unused path in the data folder');
  return file;
}
