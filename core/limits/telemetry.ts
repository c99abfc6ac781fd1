// Limits for stored log lines, invocations and traces. Part of core/limits.ts; not imported elsewhere.
import { DAY_MS, KB, MB, type Bounds } from './bound.ts';

export const telemetryBounds = {
  linesPerSecond: [
    'LOG_LINES_PER_SECOND',
    1000,
    'Log lines stored per second, for each project and engine, with bursts of twice as many; the last fifth is reserved for warnings and errors',
  ],
  bytesPerSecond: [
    'LOG_BYTES_PER_SECOND',
    1 * MB,
    'Characters of log lines stored per second, for each project and engine, with bursts of twice as many; the last fifth is reserved for warnings and errors',
  ],
  lineCharsMax: ['LOG_LINE_CHARS_MAX', 16 * KB, 'Length of a stored line; longer lines are truncated and marked'],
  invocationsPerSecond: [
    'LOG_INVOCATIONS_PER_SECOND',
    100,
    'Invocations stored per second, for each project and engine, with bursts of twice as many; the last half is reserved for failures',
  ],
  tracesPerSecond: [
    'TRACE_PER_SECOND_MAX',
    10,
    'Sampled traces per second, for each project and engine, with bursts of twice as many',
  ],
  spansMax: ['TRACE_SPANS_MAX', 200, 'Spans per invocation'],
  heldBytesMax: [
    'LOG_HELD_BYTES_MAX',
    32 * MB,
    'Lines, invocations and spans that the supervisor buffers until the control plane fetches them; the oldest are dropped first. An engine buffers up to a quarter of it',
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
  scanMs: ['LOG_SCAN_MS', 10_000, 'Longest duration of a search in stored lines, invocations or traces'],
} satisfies Bounds;
