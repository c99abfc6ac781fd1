// Limits of server processes of ssr projects. Part of core/limits.ts; not imported elsewhere.
import { MB, type Bounds } from './bound.ts';

export const ssrBounds = {
  processesMax: [
    'SSR_PROCESSES_MAX',
    50,
    'Server processes of ssr projects at a time; above it the idlest one is stopped',
  ],
  memoryMbMax: ['SSR_MEMORY_MB', 512, 'Memory of one server process and of what it starts; above it it is ended'],
  processorsMax: ['SSR_CPUS', 1, 'Processors of a server process, where control groups can be made'],
  tasksMax: ['SSR_PIDS', 256, 'Processes and threads of one server at a time'],
  idleMs: ['SSR_IDLE_MS', 300_000, 'A server process is stopped after so long without a request'],
  startMs: ['SSR_START_MS', 30_000, 'How long a server may take until it listens'],
  stopMs: ['SSR_STOP_MS', 5000, 'How long a server has to end after SIGTERM; then it is killed'],
  pauseMs: [null, 1000, 'Pause after the first failed start or early death; doubled at each further one'],
  pauseMsMax: ['SSR_PAUSE_MS_MAX', 60_000, 'The longest pause before a server that fails is started again'],
  temporaryBytesMax: ['SSR_TMP_MAX_BYTES', 64 * MB, 'What a server may have in `/tmp`, which lies in its memory'],
  connectionsMax: ['SSR_CONNECTIONS_MAX', 256, 'Connections that one server process has open to elsewhere'],
  logLineCharsMax: ['SSR_LOG_LINE_CHARS_MAX', 8192, 'One line that a server writes; it is cut there'],
} satisfies Bounds;
