// Which project of which platform a folder belongs to: `.platform/project.json`, written by `platform link` and by the
// first `platform deploy`. A folder below has the link of the nearest one above.
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readTextSync } from '#core/text-file.ts';
import { CliError } from '../terminal/failure.ts';

/** What is written down. */
export interface Link {
  /** Of the API, as it is kept with its token. */
  readonly apiUrl: string;
  readonly projectId: string;
  readonly organizationId: string;
}

/** A link, and the folder it is of. */
export interface FoundLink extends Link {
  readonly folder: string;
}

const FILE_BYTES_MAX = 10_000;
const ID = /^[a-z]{3}_[0-9a-z]{1,64}$/;

/** Where the link of a folder lies. */
export function linkFile(folder: string): string {
  return path.join(folder, '.platform', 'project.json');
}

/**
 * The link of a folder or of the nearest one above; null where there is none. It stops at the repository's root.
 *
 * @throws {CliError} for a file that is no link.
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
    // Said below.
  }
  const { apiUrl, projectId, organizationId } = found ?? {};
  const isUrl = typeof apiUrl === 'string' && /^https?:$/.test(URL.parse(apiUrl)?.protocol ?? '');
  if (!isUrl || !isId(projectId) || !isId(organizationId))
    throw new CliError('This is no link to a project', {
      file,
      advice: 'Write it anew with `platform link`, or take it away with `platform unlink`.',
    });
  return { apiUrl, projectId, organizationId };
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

/** Writes the link of a folder, whole or not at all, and keeps it out of Git where nothing else does. */
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

/** Takes the link of a folder away; whether there was one. */
export function removeLink(folder: string): boolean {
  const file = linkFile(folder);
  if (!existsSync(file)) return false;
  rmSync(file);
  return true;
}
