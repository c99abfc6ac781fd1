// Limits of sandboxes, enforced by the process that runs them. Part of core/limits.ts; not imported elsewhere.
import type { Bounds } from './bound.ts';

export const sandboxBounds = {
  memoryMb: [
    'SANDBOX_MEMORY_MB',
    1024,
    'Memory of a sandbox with all that runs in it; above it the largest process is killed',
  ],
  processorsMax: ['SANDBOX_CPUS', 1, 'Processors of a sandbox'],
  tasksMax: ['SANDBOX_PIDS', 512, 'Processes and threads of a sandbox at a time'],
  buildMemoryMb: [
    'BUILD_SANDBOX_MEMORY_MB',
    8192,
    'Memory of the sandbox of a build that has no machine of a size; above it the largest process is killed',
  ],
  diskMb: [
    'SANDBOX_DISK_MB',
    10_240,
    'Disk of a sandbox, at `/workspace`; 0: no limit, on the disk of the container engine',
  ],
  temporaryMb: ['SANDBOX_TMP_MB', 256, 'What a sandbox may have in `/tmp`, which lies in its memory'],
  perProjectMax: [
    'SANDBOX_PER_PROJECT_MAX',
    50,
    'Sandboxes of a project, those that sleep too; those of builds are as many again',
  ],
  callsMax: ['SANDBOX_CALLS_MAX', 200, 'Calls of the sandboxes of one project at a time'],
  portRequestsMax: [
    'SANDBOX_PORT_REQUESTS_MAX',
    100,
    'Requests and WebSockets to exposed ports of one project at a time',
  ],
  portIdleMs: [
    'SANDBOX_PORT_IDLE_MS',
    300_000,
    'A request or WebSocket to an exposed port ends when nothing has passed over it for so long',
  ],
  idleMs: [
    'SANDBOX_IDLE_MS',
    600_000,
    'A sandbox is suspended after so long without a call: it holds its memory and costs no CPU',
  ],
  stopMs: [
    'SANDBOX_STOP_MS',
    3_600_000,
    'A suspended sandbox is stopped after so long without a call: its files stay, its processes end',
  ],
  answerMs: ['SANDBOX_ANSWER_MS', 30_000, 'How long a sandbox may take to start'],
  leaseMs: [
    'SANDBOX_LEASE_MS',
    30_000,
    'After which another replica of the sandbox service takes over what one that died held',
  ],
  sweepMs: ['SANDBOX_SWEEP_MS', 10_000, 'Pause between looks for sandboxes to suspend, stop and destroy'],
} satisfies Bounds;
