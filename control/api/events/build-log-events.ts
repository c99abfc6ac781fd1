// A build log as server-sent events: stored lines first, then new ones until the deployment ends. Woken by NOTIFY, with
// polling as a fallback. Sent by event-stream.ts.
import { createWake } from '#core/process/wake.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { hasEnded, readLog, readState, toLine } from '../../records/deployments.ts';

const POLL_MS = 2000;
const LINES_TOGETHER = 500;

/**
 * Yields `line` events (the line number is the id), `status`, and a final `end`.
 *
 * @param after number of the last line that the client has.
 */
export async function* buildLogEvents(
  deps: Dependencies,
  deploymentId: string,
  after: number,
  gone: AbortSignal,
): AsyncGenerator<string, void> {
  const wake = createWake(gone);
  const listener = (payload: string): void => {
    if (payload === deploymentId) wake.now();
  };
  // Listen before reading, so that no line is missed in between.
  const stops = [await deps.onNotify('control_log', listener), await deps.onNotify('control_deployment', listener)];
  let [seq, shown] = [after, ''];
  try {
    yield ': build log\n\n';
    while (!gone.aborted) {
      // Read the state first: all lines are written before the final state.
      const state = await readState(deps.sql, deploymentId);
      const rows = await readLog(deps.sql, deploymentId, seq, LINES_TOGETHER);
      let text = rows.map((row) => `id: ${row.seq}\nevent: line\ndata: ${JSON.stringify(toLine(row))}\n\n`).join('');
      seq = rows.at(-1)?.seq ?? seq;
      const said = state === null ? '' : JSON.stringify(state);
      const hasAll = rows.length < LINES_TOGETHER;
      if (hasAll && said !== shown) text += `event: status\ndata: ${(shown = said)}\n\n`;
      const isEnd = hasAll && (state === null || hasEnded(state.status));
      if (isEnd) text += 'event: end\ndata: {}\n\n';
      yield text;
      if (isEnd) return;
      if (hasAll) await wake.wait(POLL_MS);
    }
  } finally {
    await Promise.all(stops.map((stop) => stop()));
  }
}
