// Links a folder to a project of a platform: `.platform/project.json`, written by `platform link` and by the first
// `platform deploy`. Subfolders use the link of the nearest parent.
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readTextSync } from '#core/text-file.ts';
import { CliError } from '../terminal/failure.ts';

/** Content of the file. */
interface Link {
  /** URL of the API, as stored with its token. */
  readonly apiUrl: string;
  readonly projectId: string;
  readonly organizationId: string;
}

/** A link and its folder. */
export interface FoundLink extends Link {
  readonly folder: string;
}

const FILE_BYTES_MAX = 10_000;
const ID = /^[a-z]{3}_[0-9a-z]{1,64}$/;

/** Path of a folder's link. */
function linkFile(folder: string): string {
  return path.join(folder, '.platform', 'project.json');
}

/**
 * The link of a folder or its nearest parent up to the repository root; null if there is none.
 *
 * @throws {CliError} for an invalid file.
 */
export function findLink(folder: string): FoundLink | null {
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    if (existsSync(linkFile(at))) return { ...readLink(linkFile(at)), folder: at };
    if (existsSync(path.join(at, '.git')) || at === path.dirname(at)) return null;
  }
}

function readLink(file: string): Link {
  let found: Partial<Link> | null = null;
  try {
    const text = readTextSync(file);
    found = text.length > FILE_BYTES_MAX ? null : (JSON.parse(text) as Partial<Link> | null);
  } catch {
    // Reported below.
  }
  const { apiUrl, projectId, organizationId } = found ?? {};
  const isUrl = typeof apiUrl === 'string' && /^https?:$/.test(URL.parse(apiUrl)?.protocol ?? '');
  if (!isUrl || !isId(projectId) || !isId(organizationId))
    throw new CliError('Invalid project link', {
      file,
      advice: 'Recreate the link with `platform link`, or remove it with `platform unlink`.',
    });
  return { apiUrl, projectId, organizationId };
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

/** Writes the link of a folder atomically, and makes Git ignore it. */
export function writeLink(folder: string, { apiUrl, projectId, organizationId }: Link): string {
  const file = linkFile(folder);
  mkdirSync(path.dirname(file), { recursive: true });
  const beside = `${file}.${process.pid}`;
  writeFileSync(beside, `${JSON.stringify({ apiUrl, projectId, organizationId }, null, 2)}\n`);
  renameSync(beside, file);
  const ignore = path.join(path.dirname(file), '.gitignore');
  if (!existsSync(ignore)) writeFileSync(ignore, '*\n');
  return file;
}

/** Removes the link of a folder. @returns whether there was a link. */
export function removeLink(folder: string): boolean {
  const file = linkFile(folder);
  if (!existsSync(file)) return false;
  rmSync(file);
  return true;
}
