// Storage limits of an organization, by its plan. Part of core/limits.ts; not imported elsewhere.
import { KB, MB, type Bounds } from './bound.ts';

const GB = KB * MB;

export const storageBounds = {
  bytesMaxFree: ['STORAGE_BYTES_MAX_FREE', 100 * GB, 'What an organization of the plan `free` keeps; 0 = no limit', 0],
  bytesMaxPro: ['STORAGE_BYTES_MAX_PRO', 1024 * GB, 'What an organization of the plan `pro` keeps; 0 = no limit', 0],
  bytesMaxEnterprise: [
    'STORAGE_BYTES_MAX_ENTERPRISE',
    0,
    'What an organization of the plan `enterprise` keeps; 0 = no limit',
    0,
  ],
  diskSharedBytes: [
    'DISK_SHARED_BYTES',
    10 * GB,
    'The last bytes of the disk above `DISK_FREE_BYTES_MIN`, a tenth of the disk at most: only organizations that keep less than the average take of them; 0 = none',
    0,
  ],
} satisfies Bounds;
