// Limits of server processes of ssr projects. Part of core/limits.ts; not imported elsewhere.
import { MB, type Bounds } from './bound.ts';

export const ssrBounds = {
  processesMax: [
    'SSR_PROCESSES_MAX',
    50,
    'Server processes of ssr projects; above it, the one that has been idle longest is stopped',
  ],
  memoryMbMax: ['SSR_MEMORY_MB', 512, 'Memory of a server process and its children; above it, the server is killed'],
  processorsMax: ['SSR_CPUS', 1, 'CPUs of a server process, on machines with control groups'],
  tasksMax: ['SSR_PIDS', 256, 'Processes and threads of a server'],
  idleMs: ['SSR_IDLE_MS', 300_000, 'Time without a request after which a server process is stopped'],
  startMs: ['SSR_START_MS', 30_000, 'How long a server can take to listen'],
  stopMs: ['SSR_STOP_MS', 5000, 'How long a server has to exit after SIGTERM before it is killed'],
  pauseMs: [null, 1000, 'Pause after the first failed start or early death; doubled at each further one'],
  pauseMsMax: ['SSR_PAUSE_MS_MAX', 60_000, 'Longest pause before a failing server is restarted'],
  temporaryBytesMax: ['SSR_TMP_MAX_BYTES', 64 * MB, "Size of a server's `/tmp`, which uses its memory"],
  connectionsMax: ['SSR_CONNECTIONS_MAX', 256, 'Outgoing connections per server process'],
  logLineCharsMax: ['SSR_LOG_LINE_CHARS_MAX', 8192, "Length of a server's log line; longer lines are truncated"],
} satisfies Bounds;
