// Opens the store of artifacts that an environment names. Called by the main modules of the processes that need it; the
// S3 client is loaded only with a bucket.
import { bucketFrom } from '#core/s3/bucket-variables.ts';
import type { ArchiveLimits } from '../archive/read-archive.ts';
import { openArtifactsDisk } from './artifact-store-disk.ts';
import type { ArtifactStore } from './artifact-store.ts';

/**
 * @param options `dataFolder`: `FS_PATH`. `installation`: reads the id of the platform from its database; called only
 * with a bucket. `awayMsMax`: how long to wait for an unresponsive storage.
 * @throws {Error} naming an invalid variable.
 */
export async function openArtifactStore(
  environment: Readonly<Record<string, string | undefined>>,
  options: {
    readonly dataFolder: string;
    readonly limits: ArchiveLimits;
    readonly installation: () => Promise<string>;
    readonly awayMsMax?: number;
  },
): Promise<ArtifactStore> {
  const place = bucketFrom((name) => environment[name]?.trim() ?? '', 'ARTIFACTS_S3', 'Artifacts');
  if (place === null) return openArtifactsDisk(options.dataFolder);
  const { openArtifactsS3 } = await import('./artifact-store-s3.ts');
  return openArtifactsS3({ ...options, place });
}
