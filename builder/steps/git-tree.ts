// Checks the file list of a commit before any file is written: kinds, names, number and size. Pure. Called by
// checkout.ts with the output of `git ls-tree -r -z -l`.
import type { Failure } from '#core/failure.ts';
import { buildFailure } from './types.ts';

/** A file of a commit. */
interface TreeFile {
  readonly path: string;
  readonly object: string;
  readonly bytes: number;
}

/** The content of a commit. */
export interface GitTree {
  /** Paths of all files and links, in Git's order. */
  readonly paths: readonly string[];
  readonly links: readonly TreeFile[];
  readonly bytes: number;
  /** Possible Git LFS pointers, by their size. */
  readonly maybePointers: readonly TreeFile[];
}

/** Limits of a commit. */
interface TreeLimits {
  readonly sourceBytesMax: number;
  readonly sourceFilesMax: number;
}

const PATH_BYTES_MAX = 4096;
const PART_BYTES_MAX = 255;
const LINKS_MAX = 10_000;
/** A Git LFS pointer has about 130 bytes. */
const POINTER_BYTES = { min: 100, max: 300 } as const;
const POINTERS_LOOKED_AT_MAX = 500;
/** Matches one entry of the list: mode, kind, hash, size, path. Only submodules have no size. */
const ENTRY = /^(\d{6}) (?:blob ([0-9a-f]{40,64}) +(\d+)|(commit) [0-9a-f]{40,64} +-)\t(.+)$/s;

/**
 * Parses the file list of a commit as a stream, and stops at the first refused entry.
 *
 * @param chunks output of `git ls-tree -r -z -l --full-tree`
 * @throws {Failure} `build`: `submodules_unsupported`, `source_too_large`, `source_unsafe`, `repository_empty`
 */
export async function readTree(chunks: AsyncIterable<Uint8Array>, limits: TreeLimits): Promise<GitTree> {
  const paths: string[] = [];
  const links: TreeFile[] = [];
  const maybePointers: TreeFile[] = [];
  const submodules: string[] = [];
  let bytes = 0;
  for await (const entry of entriesOf(chunks)) {
    const [, mode, object, size, submodule, path] = ENTRY.exec(entry) ?? [];
    if (path === undefined) throw unsafe(entry, 'is no file that Git lists in a known way');
    if (submodule !== undefined) {
      submodules.push(path);
      continue;
    }
    const problem = pathProblem(path);
    if (problem !== null) throw unsafe(path, problem);
    paths.push(path);
    if (paths.length > limits.sourceFilesMax)
      throw buildFailure(
        'source_too_large',
        `The commit has more than ${limits.sourceFilesMax} files (BUILD_SOURCE_FILES_MAX)`,
      );
    const file = { path, object: object!, bytes: Number(size) };
    bytes += file.bytes;
    if (bytes > limits.sourceBytesMax)
      throw buildFailure(
        'source_too_large',
        `The files of the commit have more than ${limits.sourceBytesMax} bytes together (BUILD_SOURCE_BYTES_MAX), ${shown(path)} has ${file.bytes}`,
      );
    if (mode === '120000') {
      links.push(file);
      if (links.length > LINKS_MAX) throw unsafe(path, `is one of more than ${LINKS_MAX} symbolic links`);
    } else if (
      file.bytes >= POINTER_BYTES.min &&
      file.bytes <= POINTER_BYTES.max &&
      maybePointers.length < POINTERS_LOOKED_AT_MAX
    )
      maybePointers.push(file);
  }
  if (submodules.length > 0) {
    const named = submodules.slice(0, 5).map(shown).join(', ') + (submodules.length > 5 ? ', ...' : '');
    throw buildFailure(
      'submodules_unsupported',
      `The repository has Git submodules (${named}), which are not fetched. Copy the files of submodules into the repository, or install them as packages`,
    );
  }
  if (paths.length === 0) throw buildFailure('repository_empty', 'The commit has no files');
  return { paths, links, bytes, maybePointers };
}

/** Why the path of a file is refused, to be appended to its name; null if it is accepted. */
export function pathProblem(path: string): string | null {
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) return 'has too long a path';
  if (path.startsWith('/')) return 'is an absolute path';
  for (const part of path.split('/')) {
    if (part === '' || part === '.' || part === '..') return 'leads out of its folder';
    if (Buffer.byteLength(part) > PART_BYTES_MAX) return 'has a part that no file system takes';
    if (isGitFolder(part)) return 'would be taken for the folder of Git';
  }
  return null;
}

/** Whether a link's target is outside the checkout, judged only by its text. */
export function leadsOut(path: string, target: string): boolean {
  if (target.startsWith('/') || target.includes('\0')) return true;
  let depth = path.split('/').length - 1;
  for (const part of target.split('/')) {
    if (part === '..') depth--;
    else if (part !== '' && part !== '.') depth++;
    if (depth < 0) return true;
  }
  return false;
}

/** Names that some file systems treat as `.git`: other case, ignored characters, short names. */
function isGitFolder(part: string): boolean {
  const plain = part
    .normalize('NFKC')
    .replace(/[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, '')
    .replace(/[. ]+$/, '')
    .replace(/:.*$/, '')
    .toLowerCase();
  return plain === '.git' || /^git~\d+$/.test(plain);
}

/** Splits NUL-terminated texts, with a maximum length. */
async function* entriesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const whole = Buffer.concat([rest, chunk]);
    let from = 0;
    for (let end = whole.indexOf(0); end >= 0; end = whole.indexOf(0, from)) {
      yield whole.toString('utf8', from, end);
      from = end + 1;
    }
    rest = whole.subarray(from);
    if (rest.length > 4 * PATH_BYTES_MAX) throw unsafe(rest.toString('utf8', 0, 100), 'has too long a path');
  }
  if (rest.length > 0) throw unsafe(rest.toString('utf8', 0, 100), 'is cut off in the list of files');
}

function unsafe(path: string, problem: string): Failure<'build'> {
  return buildFailure('source_unsafe', `${shown(path)} in the repository ${problem}: it is not checked out`);
}

/** A path for messages: one line, limited in length. */
export function shown(path: string): string {
  const plain = path.replace(/[\p{Cc}\p{Cf}]/gu, '?');
  return `"${plain.length > 120 ? `${plain.slice(0, 120)}...` : plain}"`;
}
