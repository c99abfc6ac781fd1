// Limits of builds from Git. Part of core/limits.ts; not imported elsewhere. Limits of an artifact are in engine.ts.
import { KB, MB, type LimitDefinitions } from './definition.ts';

export const buildLimits = {
  concurrency: [
    'BUILD_CONCURRENCY',
    0,
    'Concurrent builds; 0 means one if the machine has less than 4 GB of memory, else two, and at most `WORKER_CONCURRENCY` if that is set',
    0,
  ],
  timeoutMs: ['BUILD_TIMEOUT_MS', 1_800_000, 'Duration of a build, from its claim to its artifact'],
  memoryMbMax: [
    'BUILD_MEMORY_MB',
    4096,
    "Memory of a build with all its processes; concurrent builds together use at most three quarters of the machine's memory",
  ],
  diskBytesMax: ['BUILD_DISK_MAX_BYTES', 10 * KB * MB, 'Disk space of a build: checkout, packages and output'],
  filesMax: [
    'BUILD_FILES_MAX',
    500_000,
    'Files and folders of a build: checkout, packages and output; hard links to a file count once',
  ],
  processorsMax: [
    'BUILD_SANDBOX_CPUS',
    2,
    'CPUs of a build, on machines with control groups; at most those of the machine',
  ],
  processesMax: ['BUILD_SANDBOX_PIDS', 512, 'Processes and threads of a build'],
  sourceBytesMax: ['BUILD_SOURCE_BYTES_MAX', 1024 * MB, "Total size of a commit's files"],
  sourceFilesMax: ['BUILD_SOURCE_FILES_MAX', 200_000, "Number of a commit's files"],
  logBytesMax: [null, 8 * MB, 'Log of a build; further output is dropped, except lines of the platform'],
  logLineCharsMax: [null, 8 * KB, 'Length of one line of a build log; longer lines are cut'],
  logsBytesMax: [
    'BUILD_LOGS_BYTES_MAX',
    1024 * MB,
    'Size of all build logs; above this limit, logs of the oldest deployments are deleted',
  ],
  cacheBytesMax: ['BUILD_CACHE_BYTES_MAX', 2 * KB * MB, 'Size of the build caches of a project'],
  cachesBytesMax: [
    'BUILD_CACHES_BYTES_MAX',
    10 * KB * MB,
    'Size of all build caches; above this limit, the least recently used are deleted',
  ],
  leaseMs: [
    'BUILD_LEASE_MS',
    30_000,
    'Time without a heartbeat after which another builder can take over a claimed build',
  ],
  pollMs: ['BUILD_POLL_MS', 1000, 'Interval at which a builder polls for builds, in case a notification was lost'],
  idleMs: ['BUILD_IDLE_MS', 60_000, 'Time without a build after which the builder process exits'],
} satisfies LimitDefinitions;
