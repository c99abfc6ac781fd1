// Limits for stored log lines, invocations and traces. Part of core/limits.ts; not imported elsewhere.
import { DAY_MS, KB, MB, type LimitDefinitions } from './definition.ts';

export const telemetryLimits = {
  linesPerSecond: [
    'LOG_LINES_PER_SECOND',
    1000,
    'Log lines stored per second, for each project and engine, with bursts of twice as many; the last fifth is reserved for warnings and errors',
  ],
  bytesPerSecond: [
    null,
    1 * MB,
    'Characters of log lines per second, for each project and engine, with bursts of twice as many; the last fifth is reserved for warnings and errors',
  ],
  lineCharsMax: [null, 16 * KB, 'Size of a stored line; longer ones are truncated and marked'],
  invocationsPerSecond: [
    'LOG_INVOCATIONS_PER_SECOND',
    100,
    'Invocations stored per second, for each project and engine, with bursts of twice as many; the last half is reserved for slow and failed ones, the last quarter for failed ones',
  ],
  tracesPerSecond: [
    'TRACE_PER_SECOND_MAX',
    50,
    'Sampled traces per second, for each project and engine, with bursts of twice as many',
  ],
  spansMax: [null, 200, 'Spans of one invocation'],
  heldBytesMax: [
    null,
    32 * MB,
    'Lines, invocations and spans that a supervisor buffers for the control plane; the oldest are dropped first. An engine buffers a quarter of it',
  ],
  retentionMs: ['LOG_RETENTION_MS', 7 * DAY_MS, 'How long lines and invocations are stored, in whole days'],
  projectBytesMax: [
    'LOG_PROJECT_BYTES_MAX',
    512 * MB,
    "Size of a project's stored lines, invocations and spans; the oldest are deleted first",
  ],
  unaskedMs: [
    'LOG_UNASKED_MS',
    120_000,
    'Time without a request from a control plane after which engines stop recording',
  ],
  scanMs: [null, 10_000, 'Longest search in stored lines, invocations or traces'],
} satisfies LimitDefinitions;
