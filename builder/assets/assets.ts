// Lists the static files of a project with their hashes. Called by build.ts; read-only.
import { createHash } from 'node:crypto';
import { createReadStream, type Dirent } from 'node:fs';
import { lstat, open, readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { isFailure } from '#core/failure.ts';
import { readText } from '#core/text-file.ts';
import type { AssetFile } from '#core/manifest.ts';
import { BuildError } from '../project/build-error.ts';
import { contentType } from './content-types.ts';
import { isVideo, mayBeVideo, withheldBy, type Withheld } from './private-files.ts';

/** Limits of an artifact (docs/limits.md); the defaults are in core/limits.ts. */
export interface ArtifactLimits {
  /** `BUILD_ARTIFACT_MAX_BYTES` */
  readonly artifactBytesMax: number;
  /** `BUILD_ARTIFACT_MAX_FILES` */
  readonly artifactFilesMax: number;
}

/** The files of an assets folder. */
export interface Assets {
  /** URL path without the leading slash -> file, sorted by path. */
  readonly files: Readonly<Record<string, AssetFile>>;
  /** URL path -> absolute path of the content. */
  readonly sources: ReadonlyMap<string, string>;
  /** Total size of all files. */
  readonly bytes: number;
  /** Paths of private keys that were left out, sorted. */
  readonly withheld: readonly string[];
  /** Content of `_headers` and `_redirects`, which configure serving and are not served themselves; null if absent. */
  readonly rules: { readonly headers: string | null; readonly redirects: string | null };
}

/** Properties of the assets folder. */
interface AssetOptions {
  /** Whether the folder is the project itself: sources and configuration are then left out too. */
  readonly isProject?: boolean;
  /** Absolute paths of the worker's files, if its entry is in this folder: its code is not served. */
  readonly worker?: readonly string[];
}

/** Files hashed concurrently. */
const HASHES_AT_ONCE = 8;

/**
 * Lists the files that a folder serves: all except dotfiles (`.well-known` is served), `node_modules`, private keys,
 * `_headers` and `_redirects`. Symbolic links are followed inside the folder; links to paths outside it are an error.
 *
 * @param folder absolute
 * @throws {BuildError} `assets` or `too_large`
 */
export async function collectAssets(
  folder: string,
  limits: ArtifactLimits,
  options: AssetOptions = {},
): Promise<Assets> {
  const base = await realpath(folder).catch(() => {
    throw new BuildError('assets', `The assets folder ${folder} does not exist`);
  });
  const withheld: string[] = [];
  const found = await list(base, limits.artifactFilesMax, options, withheld);
  let bytes = 0;
  for (const { size } of found.values()) bytes += size;
  if (bytes > limits.artifactBytesMax)
    throw tooLarge('bytes', bytes, limits.artifactBytesMax, 'BUILD_ARTIFACT_MAX_BYTES');

  const files: [string, AssetFile][] = [];
  const waiting = [...found.entries()];
  const hashSome = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [path, { file, size }] = next;
      files.push([path, { hash: await hashFile(file), bytes: size, type: contentType(path) }]);
    }
  };
  await Promise.all(Array.from({ length: HASHES_AT_ONCE }, hashSome));
  files.sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    files: Object.fromEntries(files),
    sources: new Map([...found].map(([path, { file }]) => [path, file])),
    bytes,
    withheld: withheld.sort(),
    rules: { headers: await textOf(base, '_headers'), redirects: await textOf(base, '_redirects') },
  };
}

interface Found {
  readonly file: string;
  readonly size: number;
}

async function list(
  base: string,
  filesMax: number,
  options: AssetOptions,
  withheld: string[],
): Promise<Map<string, Found>> {
  const isProject = options.isProject === true;
  const ofWorker = workerFiles(base, options.worker ?? []);
  const found = new Map<string, Found>();
  const folders: { path: string; real: string; above: readonly string[] }[] = [{ path: '', real: base, above: [] }];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await readdir(folder.real, { withFileTypes: true })) {
      const file = join(folder.real, entry.name);
      const reason = await skippedBy(file, folder.path === '', isProject);
      if (reason === 'key') withheld.push(folder.path + entry.name);
      if (reason !== null || ofWorker.has(file)) continue;
      // Unicode names are normalized, whatever the file system stores, since browsers send this form.
      const path = (folder.path + entry.name).normalize('NFC');
      const target = await targetOf(base, file, entry, isProject);
      const info = await stat(target).catch((error: unknown) => {
        throw new BuildError('assets', `Asset ${path} cannot be read: ${(error as Error).message}`, { cause: error });
      });
      if (info.isDirectory()) {
        if (target === folder.real || folder.above.includes(target))
          throw new BuildError('assets', `Asset ${path} is a link to a folder around it`);
        folders.push({ path: `${path}/`, real: target, above: [...folder.above, folder.real] });
      } else if (info.isFile()) {
        if (found.has(path))
          throw new BuildError('assets', `Two assets are called ${path} (with different Unicode spellings)`);
        found.set(path, { file: target, size: info.size });
        if (found.size > filesMax) throw tooLarge('files', found.size, filesMax, 'BUILD_ARTIFACT_MAX_FILES');
      } else {
        throw new BuildError('assets', `Asset ${path} is neither a file nor a folder`);
      }
    }
  }
  return found;
}

/** Why a file is not served; `rules` means that it contains rules for serving. */
async function skippedBy(file: string, atTop: boolean, isProject: boolean): Promise<Withheld | 'rules'> {
  const name = basename(file);
  if (atTop && (name === '_headers' || name === '_redirects')) return 'rules';
  const reason = withheldBy(name, atTop, isProject);
  return reason === 'project' && mayBeVideo(name) && isVideo(await startOf(file)) ? null : reason;
}

async function startOf(file: string): Promise<Uint8Array> {
  const info = await stat(file).catch(() => null);
  if (info?.isFile() !== true) return new Uint8Array();
  await using handle = await open(file, 'r');
  const { bytesRead, buffer } = await handle.read(new Uint8Array(189), 0, 189, 0);
  return buffer.subarray(0, bytesRead);
}

/**
 * A worker's modules with their source maps, and files that belong to a worker by convention. Text and data that the
 * worker imports are still served.
 */
function workerFiles(base: string, inputs: readonly string[]): ReadonlySet<string> {
  if (inputs.length === 0) return new Set();
  const code = inputs.filter((file) => /\.(?:[cm]?js|wasm)$/.test(file));
  return new Set([
    ...code,
    ...code.map((file) => `${file}.map`),
    ...['_worker.js', '_routes.json'].map((name) => join(base, name)),
  ]);
}

async function targetOf(
  base: string,
  file: string,
  entry: Pick<Dirent, 'isSymbolicLink'>,
  isProject: boolean,
): Promise<string> {
  if (!entry.isSymbolicLink()) return file;
  const name = relative(base, file);
  const target = await realpath(file).catch(() => {
    throw new BuildError('assets', `Asset ${name} is a link to a missing path`);
  });
  if (target !== base && !target.startsWith(base + sep))
    throw new BuildError('assets', `Asset ${name} is a link to a path outside the assets folder`);
  // A link does not expose files that are not served by themselves.
  const parts = relative(base, target).split(sep);
  const hidden = parts.some((part, index) => part !== '' && withheldBy(part, index === 0, isProject) !== null);
  if (hidden || (parts.length === 1 && /^_(?:headers|redirects)$/.test(parts[0]!)))
    throw new BuildError('assets', `Asset ${name} is a link to ${relative(base, target)}, which is not served`);
  return target;
}

async function hashFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Uint8Array);
  return hash.digest('hex');
}

function refused(error: unknown): never {
  if (isFailure(error, 'text_encoding')) throw new BuildError('assets', error.message);
  throw error;
}

/**
 * The text of a rules file. The file must not be a link out of the folder, since its lines appear in error messages.
 */
async function textOf(base: string, name: string): Promise<string | null> {
  const info = await lstat(join(base, name)).catch(() => null);
  if (info === null) return null;
  const file = await targetOf(base, join(base, name), info, false);
  return (await stat(file)).isFile() ? readText(file).catch(refused) : null;
}

/** The error for a limit of docs/limits.md, with the used and allowed values. */
export function tooLarge(unit: 'bytes' | 'files', used: number, allowed: number, variable: string): BuildError {
  return new BuildError(
    'too_large',
    `The artifact has ${used} ${unit}${unit === 'files' ? ' or more' : ''}; ${variable} allows ${allowed}`,
  );
}
