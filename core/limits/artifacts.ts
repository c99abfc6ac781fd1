// Limits of artifacts on machines that share them through a bucket. Part of core/limits.ts; not imported elsewhere.
import { KB, MB, type LimitDefinitions } from './definition.ts';

export const artifactLimits = {
  cacheBytesMax: [
    'ARTIFACTS_CACHE_BYTES',
    20 * KB * MB,
    'Artifacts on one machine with `ARTIFACTS_S3_*`; above this limit, the oldest artifacts that no route record names are deleted',
  ],
} satisfies LimitDefinitions;
