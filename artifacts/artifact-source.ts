// Artifacts under `<FS_PATH>/artifacts`, verified against the hashes in their names before any of their code runs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PlatformError } from '#core/errors.ts';
import { artifactId, hashOf } from '#core/artifact-id.ts';
import { toWorkerText, type WorkerText } from '#core/worker-text.ts';
import type { DatabaseMigrations, Manifest } from '#core/manifest.ts';
import { isArtifactId } from '#core/names.ts';

/** An artifact whose manifest matches its id. */
export interface OpenArtifact {
  readonly id: string;
  readonly manifest: Manifest;
  /** Length of the manifest in characters. */
  readonly size: number;
  /**
   * The verified bundle; null for static projects. Returns the same object as long as that object is referenced.
   * @throws {PlatformError} `artifact_corrupt`
   */
  workerText(): WorkerText | null;
  /** Source map of the bundle; null if there is none or it cannot be read. */
  sourceMap(): string | null;
  /** Verified migrations of the artifact's databases. @throws {PlatformError} `artifact_corrupt` */
  migrations(): readonly DatabaseMigrations[];
  /** Path of an asset's file. */
  assetFile(path: string): string;
  /** Path of the archive of an ssr project's server, which is verified when it is unpacked. */
  serverFile(): string;
  /** Path of a compressed version of an asset, by its hash. */
  encodedFile(hash: string): string;
}

const KEPT_SIZE_MAX = 16 * 1024 * 1024;

/**
 * Opens artifacts, and caches the most recent ones: the content of an id never changes, so no manifest is read or
 * verified twice.
 *
 * @param keptSizeMax total characters of the cached manifests.
 * @returns a function that opens an artifact of the folder by its id, and throws like `openArtifact`.
 */
export function createArtifactSource(folder: string, keptSizeMax = KEPT_SIZE_MAX): (id: string) => OpenArtifact {
  // The artifacts, in the order of last use.
  const kept = new Map<string, OpenArtifact>();
  let keptSize = 0;
  return (id) => {
    let artifact = kept.get(id);
    if (artifact === undefined) {
      artifact = openArtifact(folder, id);
      keptSize += artifact.size;
      for (const [oldest, { size }] of kept) {
        if (keptSize <= keptSizeMax) break;
        kept.delete(oldest);
        keptSize -= size;
      }
    } else kept.delete(id);
    kept.set(id, artifact);
    return artifact;
  };
}

/**
 * @throws {PlatformError} `deployment_unavailable` if the artifact does not exist, `artifact_corrupt` if it does not
 * match its id.
 */
export function openArtifact(folder: string, id: string): OpenArtifact {
  if (!isArtifactId(id)) throw new PlatformError('artifact_corrupt', { artifact: id, reason: 'its id is not a hash' });
  const root = join(folder, 'artifacts', id);
  const { manifest, size } = readManifest(root, id);
  const read = (name: string, hash: string): Buffer => {
    let content: Buffer;
    try {
      content = readFileSync(join(root, name));
    } catch (error) {
      throw new PlatformError('artifact_corrupt', { artifact: id, reason: `${name} cannot be read` }, { cause: error });
    }
    if (hashOf(content) !== hash)
      throw new PlatformError('artifact_corrupt', { artifact: id, reason: `${name} does not match its hash` });
    return content;
  };
  let text: WeakRef<WorkerText> | null = null;
  return {
    id,
    manifest,
    size,
    workerText() {
      if (manifest.worker === null) return null;
      const held = text?.deref();
      if (held !== undefined) return held;
      const made = toWorkerText(read('worker.js', manifest.worker.hash));
      text = new WeakRef(made);
      return made;
    },
    sourceMap() {
      const hash = manifest.worker?.mapHash ?? null;
      try {
        return hash === null ? null : read('worker.js.map', hash).toString('utf8');
      } catch {
        return null;
      }
    },
    migrations: () =>
      manifest.migrations === undefined
        ? []
        : (JSON.parse(read('migrations.json', manifest.migrations.hash).toString('utf8')) as DatabaseMigrations[]),
    assetFile: (path) => join(root, 'assets', path),
    serverFile: () => join(root, 'server.tar'),
    encodedFile(hash) {
      if (!isArtifactId(hash))
        throw new PlatformError('artifact_corrupt', { artifact: id, reason: 'an encoding has no hash' });
      return join(root, 'encoded', hash);
    },
  };
}

function readManifest(root: string, id: string): { manifest: Manifest; size: number } {
  let text: string;
  try {
    text = readFileSync(join(root, 'manifest.json'), 'utf8');
  } catch (error) {
    throw new PlatformError(
      'deployment_unavailable',
      { deployment: id, reason: 'its artifact is missing' },
      { cause: error },
    );
  }
  let manifest: Manifest;
  try {
    manifest = JSON.parse(text) as Manifest;
  } catch (error) {
    throw new PlatformError(
      'artifact_corrupt',
      { artifact: id, reason: 'manifest.json is not JSON' },
      { cause: error },
    );
  }
  if (artifactId(manifest) !== id)
    throw new PlatformError('artifact_corrupt', { artifact: id, reason: 'manifest.json does not match its hash' });
  if (manifest.version !== 1)
    throw new PlatformError('artifact_corrupt', {
      artifact: id,
      reason: `version ${String(manifest.version)} is not known`,
    });
  return { manifest, size: text.length };
}
