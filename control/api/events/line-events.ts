// The log lines of a project as server-sent events: `line`, with its number as id. Woken by NOTIFY, with polling as a
// fallback. Sent by event-stream.ts.
import { createWake } from '#core/process/wake.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { readWithin } from '../../telemetry/filter.ts';
import { followLines, lastSeq, type LineQuestion } from '../../telemetry/lines.ts';

const POLL_MS = 5000;
const LINES_TOGETHER = 500;

/** @param after number of the last line that the client has; null means only new lines. */
export async function* lineEvents(
  deps: Dependencies,
  projectId: string,
  asked: LineQuestion,
  after: number | null,
  gone: AbortSignal,
): AsyncGenerator<string, void> {
  const wake = createWake(gone);
  // Listen before reading, so that no line is missed in between.
  const stop = await deps.onNotify('control_telemetry', (projects) => {
    if (projects === '*' || projects.includes(projectId)) wake.now();
  });
  try {
    let seq = after ?? (await lastSeq(deps.sql));
    yield ': lines\n\n';
    while (!gone.aborted) {
      const { lines, last } = await readWithin(deps.sql, deps.telemetryLimits.scanMs, (sql) =>
        followLines(sql, projectId, asked, seq, LINES_TOGETHER),
      );
      seq = last;
      yield lines.map((line) => `id: ${line.id}\nevent: line\ndata: ${JSON.stringify(line)}\n\n`).join('');
      if (lines.length < LINES_TOGETHER) await wake.wait(POLL_MS);
    }
  } finally {
    await stop();
  }
}
