// Limits of builds from Git. Part of core/limits.ts; not imported elsewhere. Limits of an artifact are in engine.ts.
import { KB, MB, type Bounds } from './bound.ts';

export const buildBounds = {
  concurrency: [
    'BUILD_CONCURRENCY',
    0,
    'Builds at a time; 0 = one below 4 GB of memory, else two, and no more than `WORKER_CONCURRENCY` where that is set',
    0,
  ],
  timeoutMs: ['BUILD_TIMEOUT_MS', 1_800_000, 'One build, from its claim to its artifact'],
  memoryMbMax: [
    'BUILD_MEMORY_MB',
    4096,
    "Memory of all processes of one build; never more than three quarters of the machine's, shared by the builds at a time",
  ],
  diskBytesMax: [
    'BUILD_DISK_MAX_BYTES',
    10 * KB * MB,
    'Checkout, packages and output of one build together on the disk',
  ],
  filesMax: [
    'BUILD_FILES_MAX',
    500_000,
    'Files and folders of one build at a time: checkout, packages and output; hard links of a file count once',
  ],
  processorsMax: [
    'BUILD_SANDBOX_CPUS',
    2,
    'Processors of a build, where control groups can be made; never more than there are',
  ],
  processesMax: ['BUILD_SANDBOX_PIDS', 512, 'Processes and threads of a build at a time'],
  sourceBytesMax: ['BUILD_SOURCE_BYTES_MAX', 1024 * MB, 'Files of a commit'],
  sourceFilesMax: ['BUILD_SOURCE_FILES_MAX', 200_000, 'Number of files of a commit'],
  logBytesMax: [
    'BUILD_LOG_BYTES_MAX',
    8 * MB,
    'What one build writes to its log; the rest is read and dropped, the lines of the platform are not',
  ],
  logLineCharsMax: ['BUILD_LOG_LINE_CHARS_MAX', 8 * KB, 'One line of a build log; it is cut there'],
  logsBytesMax: [
    'BUILD_LOGS_BYTES_MAX',
    1024 * MB,
    'All build logs together; above it those of the oldest deployments go',
  ],
  cacheBytesMax: ['BUILD_CACHE_BYTES_MAX', 2 * KB * MB, 'Caches of builds that are kept for one project'],
  cachesBytesMax: [
    'BUILD_CACHES_BYTES_MAX',
    10 * KB * MB,
    'Caches of builds, of all projects together; above it what was used least recently goes',
  ],
  leaseMs: [
    'BUILD_LEASE_MS',
    30_000,
    'How long a claimed build is that of its builder without a word of it; then another one may take it over',
  ],
  pollMs: ['BUILD_POLL_MS', 1000, 'A builder looks for builds this often, should no word of them have come'],
  idleMs: ['BUILD_IDLE_MS', 60_000, "The builder's process ends after so long without a build"],
} satisfies Bounds;
