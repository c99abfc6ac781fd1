// Limits of server processes of ssr projects. Part of core/limits.ts; not imported elsewhere.
import { MB, type LimitDefinitions } from './definition.ts';

export const ssrLimits = {
  processesMax: [
    'SSR_PROCESSES_MAX',
    50,
    'Server processes of ssr projects; above this limit, the server that has been idle longest is stopped',
  ],
  memoryMbMax: [
    'SSR_MEMORY_MB',
    512,
    'Memory of a server process and its children; above this limit, the server is killed',
  ],
  processorsMax: ['SSR_CPUS', 1, 'CPUs of a server process, on machines with control groups'],
  tasksMax: ['SSR_PIDS', 256, 'Processes and threads of a server'],
  idleMs: ['SSR_IDLE_MS', 300_000, 'Time without a request after which a server process is stopped'],
  startMs: ['SSR_START_MS', 30_000, 'How long a server can take to listen'],
  stopMs: ['SSR_STOP_MS', 5000, 'How long a server has to exit after SIGTERM before it is killed'],
  pauseMs: [null, 1000, 'Pause after the first failed start or early crash; doubles each time'],
  pauseMsMax: [null, 60_000, 'Longest pause before a failing server is restarted'],
  temporaryBytesMax: ['SSR_TMP_MAX_BYTES', 64 * MB, "Size of a server's `/tmp`, which uses its memory"],
  connectionsMax: [null, 256, 'Open outgoing connections of a server process'],
  logLineCharsMax: [null, 8192, 'Length of one line that a server writes; longer lines are cut'],
} satisfies LimitDefinitions;
