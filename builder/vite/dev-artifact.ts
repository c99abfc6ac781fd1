// A dev worker as an in-memory artifact, served by the engine of `platform vite dev`. The artifact lists no static
// files, since Vite serves them.
import { artifactId } from '#core/artifact-id.ts';
import type { Manifest } from '#core/manifest.ts';
import { toWorkerText, type WorkerText } from '#core/worker-text.ts';
import { defaultAssets, toManifest } from '../build/build.ts';
import { adaptedAssetsBinding } from '../frameworks/adapters.ts';
import type { BuildConfig } from '../project/project.ts';
import type { DevWorker } from './dev-worker.ts';

/** An open artifact, as opened by artifacts/artifact-source.ts. */
interface DevArtifact {
  readonly id: string;
  readonly manifest: Manifest;
  readonly size: number;
  workerText(): WorkerText;
  sourceMap(): string;
  migrations(): [];
  assetFile(path: string): string;
  serverFile(): string;
  encodedFile(hash: string): string;
}

/** @returns an artifact with the worker's code and configuration; equal artifacts have the same id. */
export function openDevArtifact(config: BuildConfig, { code, map }: DevWorker): DevArtifact {
  const noFile = (name: string): never => {
    throw new Error(`${name} is no file of this artifact`);
  };
  const assets = { ...(config.assets ?? defaultAssets), binding: adaptedAssetsBinding(config) };
  const manifest = toManifest('dynamic', { ...config, assets }, { code, map: '' }, { files: {} });
  return {
    id: artifactId(manifest),
    manifest,
    size: 0,
    workerText: () => toWorkerText(Buffer.from(code)),
    sourceMap: map,
    // Migrations are applied at deployment.
    migrations: () => [],
    assetFile: noFile,
    serverFile: () => '',
    encodedFile: noFile,
  };
}
