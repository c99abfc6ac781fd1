// Storage limits of an organization, by its plan. Part of core/limits.ts; not imported elsewhere.
import { KB, MB, type LimitDefinitions } from './definition.ts';

const GB = KB * MB;

export const storageLimits = {
  bytesMaxFree: [
    'STORAGE_BYTES_MAX_FREE',
    100 * GB,
    'Storage of an organization on the plan `free`; 0 means no limit',
    0,
  ],
  bytesMaxPro: [
    'STORAGE_BYTES_MAX_PRO',
    1024 * GB,
    'Storage of an organization on the plan `pro`; 0 means no limit',
    0,
  ],
  bytesMaxEnterprise: [
    'STORAGE_BYTES_MAX_ENTERPRISE',
    0,
    'Storage of an organization on the plan `enterprise`; 0 means no limit',
    0,
  ],
  diskSharedBytes: [
    'DISK_SHARED_BYTES',
    10 * GB,
    'Reserve of disk space above `DISK_FREE_BYTES_MIN`, at most a tenth of the disk, that only organizations with less data than average can use; 0 means none',
    0,
  ],
} satisfies LimitDefinitions;
