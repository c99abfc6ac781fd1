// Limits of sandboxes, enforced by the process that runs them. Part of core/limits.ts; not imported elsewhere.
import type { Bounds } from './bound.ts';

export const sandboxBounds = {
  memoryMb: [
    'SANDBOX_MEMORY_MB',
    1024,
    'Memory of a sandbox and everything in it; above it, the largest process is killed',
  ],
  processorsMax: ['SANDBOX_CPUS', 1, 'CPUs of a sandbox'],
  tasksMax: ['SANDBOX_PIDS', 512, 'Processes and threads of a sandbox'],
  buildMemoryMb: [
    'BUILD_SANDBOX_MEMORY_MB',
    8192,
    "Memory of a build's sandbox without a machine size; above it, the largest process is killed",
  ],
  diskMb: [
    'SANDBOX_DISK_MB',
    10_240,
    "Disk of a sandbox, at `/workspace`; 0: no limit, on the container engine's disk",
  ],
  temporaryMb: ['SANDBOX_TMP_MB', 256, "Size of a sandbox's `/tmp`, which uses its memory"],
  perProjectMax: [
    'SANDBOX_PER_PROJECT_MAX',
    50,
    'Sandboxes per project, including suspended and stopped ones; sandboxes of builds are counted separately, with the same limit',
  ],
  callsMax: ['SANDBOX_CALLS_MAX', 200, 'Concurrent sandbox calls per project'],
  portRequestsMax: [
    'SANDBOX_PORT_REQUESTS_MAX',
    100,
    'Concurrent requests and WebSockets to exposed ports, per project',
  ],
  portIdleMs: [
    'SANDBOX_PORT_IDLE_MS',
    300_000,
    'Time without data after which a request or WebSocket to an exposed port is closed',
  ],
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
    'SANDBOX_LEASE_MS',
    30_000,
    'Time after which another replica of the sandbox service takes over the sandboxes of a dead one',
  ],
  sweepMs: [
    'SANDBOX_SWEEP_MS',
    10_000,
    'Interval at which the service looks for sandboxes to suspend, stop or destroy',
  ],
} satisfies Bounds;
