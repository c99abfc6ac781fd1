// The static files of a project with their hashes. Called by build.ts; reads, and writes nothing.
import { createHash } from 'node:crypto';
import { createReadStream, type Dirent } from 'node:fs';
import { lstat, readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { AssetFile } from '#core/manifest.ts';
import { BuildError } from './build-error.ts';
import { contentType } from './content-types.ts';

/** Bounds of an artifact (spec part 8); the defaults are in core/limits.ts. */
export interface ArtifactLimits {
  /** `BUILD_ARTIFACT_MAX_BYTES` */ readonly artifactBytesMax: number;
  /** `BUILD_ARTIFACT_MAX_FILES` */ readonly artifactFilesMax: number;
}

/** The files of an assets folder. */
export interface Assets {
  /** URL path without the leading slash -> file, sorted by path. */ readonly files: Readonly<Record<string, AssetFile>>;
  /** URL path -> where the content lies, absolute. */ readonly sources: ReadonlyMap<string, string>;
  /** Sum of all files. */ readonly bytes: number;
  /** Content of `_headers` and `_redirects`, which configure the serving and are not served; null where absent. */
  readonly rules: { readonly headers: string | null; readonly redirects: string | null };
}

/** Files of a project that is served as it lies, which nobody should be able to download. */
const projectFiles = new Set([
  'platform.yaml',
  'platform-workspace.yaml',
  'package.json',
  'package-lock.json',
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
]);

/** Files hashed at a time. */
const hashesAtOnce = 8;

/**
 * Collects what a folder serves: every file, without dotfiles (but with `.well-known`), `node_modules`, `_headers` and
 * `_redirects`. Symbolic links are followed inside the folder; one that leads out of it is an error.
 *
 * @param folder absolute
 * @param isProject the folder is the project itself: its configuration is left out too
 * @throws {BuildError} `assets` or `too_large`
 */
export async function collectAssets(folder: string, limits: ArtifactLimits, isProject = false): Promise<Assets> {
  const base = await realpath(folder).catch(() => {
    throw new BuildError('assets', `The assets folder ${folder} does not exist`);
  });
  const found = await list(base, limits.artifactFilesMax, isProject);
  let bytes = 0;
  for (const { size } of found.values()) bytes += size;
  if (bytes > limits.artifactBytesMax) throw tooLarge('bytes', bytes, limits.artifactBytesMax, 'BUILD_ARTIFACT_MAX_BYTES');

  const files: [string, AssetFile][] = [];
  const waiting = [...found.entries()];
  const hashSome = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [path, { file, size }] = next;
      files.push([path, { hash: await hashFile(file), bytes: size, type: contentType(path) }]);
    }
  };
  await Promise.all(Array.from({ length: hashesAtOnce }, hashSome));
  files.sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    files: Object.fromEntries(files),
    sources: new Map([...found].map(([path, { file }]) => [path, file])),
    bytes,
    rules: { headers: await textOf(base, '_headers'), redirects: await textOf(base, '_redirects') },
  };
}

interface Found {
  readonly file: string;
  readonly size: number;
}

async function list(base: string, filesMax: number, isProject: boolean): Promise<Map<string, Found>> {
  const found = new Map<string, Found>();
  const folders: { path: string; real: string; above: readonly string[] }[] = [{ path: '', real: base, above: [] }];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await readdir(folder.real, { withFileTypes: true })) {
      if (isSkipped(entry.name, folder.path === '', isProject)) continue;
      // One spelling of a name with accents, whatever the file system keeps: browsers send this one.
      const path = (folder.path + entry.name).normalize('NFC');
      const file = await targetOf(base, join(folder.real, entry.name), entry);
      const info = await stat(file).catch((error: unknown) => {
        throw new BuildError('assets', `Asset ${path} cannot be read: ${(error as Error).message}`, { cause: error });
      });
      if (info.isDirectory()) {
        if (file === folder.real || folder.above.includes(file))
          throw new BuildError('assets', `Asset ${path} is a link to a folder around it`);
        folders.push({ path: `${path}/`, real: file, above: [...folder.above, folder.real] });
      } else if (info.isFile()) {
        if (found.has(path)) throw new BuildError('assets', `Two assets are called ${path} (with different Unicode spellings)`);
        found.set(path, { file, size: info.size });
        if (found.size > filesMax) throw tooLarge('files', found.size, filesMax, 'BUILD_ARTIFACT_MAX_FILES');
      } else {
        throw new BuildError('assets', `Asset ${path} is neither a file nor a folder`);
      }
    }
  }
  return found;
}

function isSkipped(name: string, atTop: boolean, isProject: boolean): boolean {
  if (name === 'node_modules' || (name.startsWith('.') && name !== '.well-known')) return true;
  return atTop && (name === '_headers' || name === '_redirects' || (isProject && projectFiles.has(name)));
}

async function targetOf(base: string, file: string, entry: Pick<Dirent, 'isSymbolicLink'>): Promise<string> {
  if (!entry.isSymbolicLink()) return file;
  const name = relative(base, file);
  const target = await realpath(file).catch(() => {
    throw new BuildError('assets', `Asset ${name} is a link that leads nowhere`);
  });
  if (target !== base && !target.startsWith(base + sep))
    throw new BuildError('assets', `Asset ${name} is a link that leads out of the assets folder`);
  // Through a link nothing comes to light that is hidden by itself.
  const hidden = relative(base, target)
    .split(sep)
    .some((part, index) => part !== '' && isSkipped(part, index === 0, true));
  if (hidden) throw new BuildError('assets', `Asset ${name} is a link to ${relative(base, target)}, which is not served`);
  return target;
}

async function hashFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Uint8Array);
  return hash.digest('hex');
}

/** The text of a rules file; its lines go into messages, so that it may not be a link to a file elsewhere. */
async function textOf(base: string, name: string): Promise<string | null> {
  const info = await lstat(join(base, name)).catch(() => null);
  if (info === null) return null;
  const file = await targetOf(base, join(base, name), info);
  return (await stat(file)).isFile() ? readFile(file, 'utf8') : null;
}

/** The error for a bound of spec part 8, with used and allowed values. */
export function tooLarge(unit: 'bytes' | 'files', used: number, allowed: number, variable: string): BuildError {
  return new BuildError(
    'too_large',
    `The artifact has ${used} ${unit}${unit === 'files' ? ' or more' : ''}; ${variable} allows ${allowed}`,
  );
}
