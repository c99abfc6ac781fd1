// A dev worker as an artifact that lies nowhere: what the engine of `platform vite dev` serves. Static files are Vite's
// to serve there, so that it lists none.
import { artifactId } from '#core/artifact-id.ts';
import type { Manifest } from '#core/manifest.ts';
import { toWorkerText, type WorkerText } from '#core/worker-text.ts';
import { defaultAssets, toManifest } from '../build/build.ts';
import { adaptedAssetsBinding } from '../frameworks/adapters.ts';
import type { BuildConfig } from '../project/project.ts';
import type { DevWorker } from './dev-worker.ts';

/** An open artifact, as artifacts/artifact-source.ts makes them. */
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

/** @returns an artifact of its code and configuration: the same ones have the same id. */
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
    // They are applied by who deploys.
    migrations: () => [],
    assetFile: noFile,
    serverFile: () => '',
    encodedFile: noFile,
  };
}
