// Moves an artifact made by a confined process into the store: every file is read without following links and compared
// with the manifest's hash while it is copied; files not in the manifest are refused. Called by run-build.ts when all
// processes of the build have exited.
import { lstat, readdir, readFile, realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { hashOf } from '#core/artifact-id.ts';
import type { Failure } from '#core/failure.ts';
import type { Manifest } from '#core/manifest.ts';
import { isArtifactId } from '#core/names.ts';
import { isArchiveError } from '#core/archive/archive-error.ts';
import { checkManifest, checkMigrations, filesOf } from '#artifacts/archive/manifest-check.ts';
import { writeArtifact, type Artifact } from '../build/artifact.ts';
import { BuildError } from '../project/build-error.ts';
import { noRoom } from './disk-watch.ts';
import { buildFailure, type BuildRunLimits } from './types.ts';

/** Maximum bytes of manifest.json and of migrations.json. */
const JSON_BYTES_MAX = 32 * 1024 * 1024;
/** Maximum compressed forms per file, and maximum files besides the assets. */
const FORMS_MAX = 3;
const OWN_FILES_MAX = 10;

/**
 * @param made folder into which the build's process wrote artifacts
 * @param id the artifact's id, as reported by that process
 * @throws {Failure} `build`: `artifact_invalid`, `artifact_too_large`, `artifact_too_many_files`, `disk_full`
 */
export async function takeArtifact(
  made: string,
  id: string,
  artifactsFolder: string,
  limits: Pick<BuildRunLimits, 'artifactBytesMax' | 'artifactFilesMax' | 'diskFreeBytesMin'>,
): Promise<Artifact> {
  if (!isArtifactId(id)) throw invalid('its id is not a hash');
  const root = await realpath(join(made, id)).catch(() => {
    throw invalid('it is not there');
  });
  if (root !== join(await realpath(made), id)) throw invalid('its folder is a link');
  try {
    const sizes = await listFiles(root, limits.artifactFilesMax * FORMS_MAX + OWN_FILES_MAX);
    const manifest = await readManifest(root, sizes, id);
    checkBounds(manifest, limits);
    const expected = filesOf(manifest);
    for (const path of sizes.keys())
      if (path !== 'manifest.json' && !expected.has(path)) throw invalid(`${path} is not in its manifest`);
    for (const [path, { bytes }] of expected) {
      const size = sizes.get(path);
      if (size === undefined) throw invalid(`${path} is missing`);
      if (bytes !== null && size !== bytes) throw invalid(`${path} is not what its manifest says`);
    }
    const text = async (name: string): Promise<string> => {
      const content = await readFile(join(root, name), 'utf8');
      if (hashOf(content) !== expected.get(name)?.hash) throw invalid(`${name} is not what its manifest says`);
      return content;
    };
    const { worker, assets } = manifest;
    const migrations = manifest.migrations === undefined ? undefined : await text('migrations.json');
    if (migrations !== undefined) checkMigrations(migrations, manifest);
    const encoded = [...expected.values()].map(({ hash }) => hash);
    return await writeArtifact(
      artifactsFolder,
      {
        manifest,
        worker: worker && { code: await text('worker.js'), map: worker.mapHash && (await text('worker.js.map')) },
        assets: new Map(Object.keys(assets?.files ?? {}).map((path) => [path, join(root, 'assets', path)])),
        ...(manifest.server !== undefined && { server: join(root, 'server.tar') }),
        encoded: new Map(encoded.map((hash) => [hash, join(root, 'encoded', hash)])),
        ...(migrations !== undefined && { migrations }),
      },
      true,
      limits.diskFreeBytesMin,
    );
  } catch (error) {
    if (isArchiveError(error)) throw invalid(error.message);
    if (error instanceof BuildError && error.code === 'write_failed') throw noRoom(error.message);
    if (error instanceof BuildError) throw invalid(error.message);
    // The build made the file inaccessible or its path too long.
    const { code = '' } = error as NodeJS.ErrnoException;
    if (/^(?:EACCES|ENOENT|ELOOP|ENAMETOOLONG|ENOTDIR)$/.test(code)) throw invalid(`it cannot be read (${code})`);
    throw error;
  }
}

/** All files by path with their size; only regular files and folders are allowed. */
async function listFiles(root: string, filesMax: number): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>();
  const waiting = [root];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    for (const name of await readdir(folder)) {
      const file = join(folder, name);
      const info = await lstat(file);
      if (info.isDirectory()) waiting.push(file);
      else if (info.isFile()) sizes.set(relative(root, file), info.size);
      else throw invalid(`${relative(root, file)} is neither a file nor a folder`);
      if (sizes.size + waiting.length > filesMax) throw invalid(`it has more than ${filesMax} files`);
    }
  }
  return sizes;
}

async function readManifest(root: string, sizes: ReadonlyMap<string, number>, id: string): Promise<Manifest> {
  for (const name of ['manifest.json', 'migrations.json'])
    if ((sizes.get(name) ?? 0) > JSON_BYTES_MAX) throw invalid(`${name} is larger than ${JSON_BYTES_MAX} bytes`);
  if (!sizes.has('manifest.json')) throw invalid('it has no manifest.json');
  const checked = checkManifest(await readFile(join(root, 'manifest.json'), 'utf8'));
  if (checked.id !== id) throw invalid('its manifest is from another artifact');
  return checked.manifest;
}

function checkBounds(
  { worker, assets, server }: Manifest,
  { artifactBytesMax, artifactFilesMax }: Pick<BuildRunLimits, 'artifactBytesMax' | 'artifactFilesMax'>,
): void {
  const files = Object.values(assets?.files ?? {});
  const bytes = files.reduce((sum, file) => sum + file.bytes, (worker?.bytes ?? 0) + (server?.bytes ?? 0));
  if (bytes > artifactBytesMax)
    throw buildFailure(
      'artifact_too_large',
      `The artifact has ${bytes} bytes; ${artifactBytesMax} are allowed (BUILD_ARTIFACT_MAX_BYTES)`,
    );
  if (files.length > artifactFilesMax)
    throw buildFailure(
      'artifact_too_many_files',
      `The artifact has ${files.length} files; ${artifactFilesMax} are allowed (BUILD_ARTIFACT_MAX_FILES)`,
    );
}

function invalid(what: string): Failure<'build'> {
  return buildFailure('artifact_invalid', `The artifact of the build cannot be used: ${what}`);
}
