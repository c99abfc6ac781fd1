// Limits of sandboxes, enforced by the process that runs them. Part of core/limits.ts; not imported elsewhere.
import type { LimitDefinitions } from './definition.ts';

export const sandboxLimits = {
  memoryMb: [
    'SANDBOX_MEMORY_MB',
    1024,
    'Memory of a sandbox and everything in it; above this limit, the largest process is killed',
  ],
  processorsMax: ['SANDBOX_CPUS', 1, 'CPUs of a sandbox'],
  tasksMax: ['SANDBOX_PIDS', 512, 'Processes and threads of a sandbox'],
  buildMemoryMb: [
    'BUILD_SANDBOX_MEMORY_MB',
    8192,
    "Memory of a build's sandbox without a machine size; above this limit, the largest process is killed",
  ],
  diskMb: [
    'SANDBOX_DISK_MB',
    10_240,
    "Disk of a sandbox, at `/workspace`; 0 means no limit, on the container engine's disk",
  ],
  temporaryMb: [null, 256, 'Size of `/tmp` in a sandbox, which uses its memory'],
  perProjectMax: [
    'SANDBOX_PER_PROJECT_MAX',
    50,
    'Sandboxes per project, including suspended and stopped ones; sandboxes of builds are counted separately, with the same limit',
  ],
  callsMax: [null, 200, 'Calls of the sandboxes of one project at a time'],
  portRequestsMax: [null, 100, 'Requests and WebSockets to exposed ports of one project at a time'],
  portIdleMs: [null, 300_000, 'Idle time after which a request or WebSocket to an exposed port is closed'],
  idleMs: [
    'SANDBOX_IDLE_MS',
    600_000,
    'Time without a call after which a sandbox is suspended: it keeps its memory and uses no CPU',
  ],
  stopMs: [
    'SANDBOX_STOP_MS',
    3_600_000,
    'Time without a call after which a suspended sandbox is stopped: it keeps its files and loses its processes',
  ],
  answerMs: ['SANDBOX_ANSWER_MS', 30_000, 'How long a sandbox can take to start'],
  leaseMs: [
    null,
    30_000,
    'Time after which another replica of the sandbox service takes over from a replica that died',
  ],
  sweepMs: [
    'SANDBOX_SWEEP_MS',
    10_000,
    'Interval at which the service checks for sandboxes to suspend, stop or destroy',
  ],
} satisfies LimitDefinitions;
