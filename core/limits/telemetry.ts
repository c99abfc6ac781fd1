// Limits for stored log lines, invocations and traces. Part of core/limits.ts; not imported elsewhere.
import { DAY_MS, KB, MB, type Bounds } from './bound.ts';

export const telemetryBounds = {
  linesPerSecond: [
    'LOG_LINES_PER_SECOND',
    1000,
    'Lines of a project that an engine hands on in a second, twice as many at once; the last fifth is for warnings and errors',
  ],
  bytesPerSecond: [
    'LOG_BYTES_PER_SECOND',
    1 * MB,
    'Characters of those lines in a second, twice as many at once; the last fifth is for warnings and errors',
  ],
  lineCharsMax: ['LOG_LINE_CHARS_MAX', 16 * KB, 'One stored line; it is cut there, and says so'],
  invocationsPerSecond: [
    'LOG_INVOCATIONS_PER_SECOND',
    100,
    'Invocations of a project that an engine hands on in a second, twice as many at once; the last half is for those that failed',
  ],
  tracesPerSecond: [
    'TRACE_PER_SECOND_MAX',
    10,
    'Sampled traces of a project that begin on an engine in a second, twice as many at once',
  ],
  spansMax: ['TRACE_SPANS_MAX', 200, 'Spans of one invocation'],
  heldBytesMax: [
    'LOG_HELD_BYTES_MAX',
    32 * MB,
    'Lines, invocations and spans that wait in the supervisor for the control plane; the oldest go first. An engine holds a quarter of it',
  ],
  retentionMs: ['LOG_RETENTION_MS', 7 * DAY_MS, 'How long lines and invocations are kept, in whole days'],
  projectBytesMax: [
    'LOG_PROJECT_BYTES_MAX',
    512 * MB,
    'Lines, invocations and spans that are kept of a project; the oldest go first',
  ],
  unaskedMs: ['LOG_UNASKED_MS', 120_000, 'Without a question of a control plane for so long, engines record nothing'],
  scanMs: ['LOG_SCAN_MS', 10_000, 'Longest search in stored lines, invocations or traces'],
} satisfies Bounds;
