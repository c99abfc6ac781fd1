// A build log as a stream of server-sent events: what is there, then what comes, until the deployment has ended. Woken
// by NOTIFY, with a poll besides. It reads on only when the client has taken what it got.
import type { Parts } from '../parts.ts';
import { hasEnded, readLog, readState, toLine } from '../records/deployments.ts';
import { ApiError } from './errors.ts';
import { createWake } from './wake.ts';

const POLL_MS = 2000;
const LINES_TOGETHER = 500;
/** Silence after which a comment says that the connection lives. */
const COMMENT_MS = 15_000;

/** Streams of one API process. */
export interface LogStreams {
  /**
   * Follows a deployment's log: events `line` (with its number as id), `status`, and `end` at last.
   *
   * @param after the last line that the client has.
   * @throws {ApiError} `unavailable` when too many are followed.
   */
  follow(parts: Parts, deploymentId: string, after: number, signal: AbortSignal): Response;
}

export function createLogStreams(): LogStreams {
  let open = 0;
  return {
    follow(parts, deploymentId, after, signal) {
      if (open >= parts.limits.logFollowersMax)
        throw new ApiError(
          'unavailable',
          { reason: 'Too many build logs are followed (API_LOG_FOLLOWERS_MAX)' },
          { 'retry-after': '5' },
        );
      open++;
      const gone = AbortSignal.any([signal, parts.stopping]);
      const lines = follow(parts, deploymentId, after, gone);
      const encoder = new TextEncoder();
      let isOver = false;
      const over = (): void => {
        if (!isOver) open--;
        isOver = true;
      };
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          try {
            const { done, value } = await lines.next();
            if (!done) return controller.enqueue(encoder.encode(value));
          } catch (error) {
            parts.log.error({ err: error, deploymentId }, 'Following a build log failed');
          }
          over();
          controller.close();
        },
        async cancel() {
          over();
          await lines.return(undefined);
        },
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' } });
    },
  };
}

/** Texts of events. */
async function* follow(parts: Parts, id: string, after: number, gone: AbortSignal): AsyncGenerator<string, void> {
  const wake = createWake(gone);
  const heard = (payload: string): void => {
    if (payload === id) wake.now();
  };
  // It listens before it reads: what comes between is not missed.
  const stops = [await parts.onNotify('control_log', heard), await parts.onNotify('control_deployment', heard)];
  let [seq, shown, silentSince] = [after, '', Date.now()];
  try {
    yield ': build log\n\n';
    while (!gone.aborted) {
      // The state first: lines are written before the end.
      const state = await readState(parts.sql, id);
      const rows = await readLog(parts.sql, id, seq, LINES_TOGETHER);
      let text = rows.map((row) => `id: ${row.seq}\nevent: line\ndata: ${JSON.stringify(toLine(row))}\n\n`).join('');
      seq = rows.at(-1)?.seq ?? seq;
      const said = state === null ? '' : JSON.stringify(state);
      const hasAll = rows.length < LINES_TOGETHER;
      if (hasAll && said !== shown) text += `event: status\ndata: ${(shown = said)}\n\n`;
      const isEnd = hasAll && (state === null || hasEnded(state.status));
      if (isEnd) text += 'event: end\ndata: {}\n\n';
      if (text === '' && Date.now() - silentSince > COMMENT_MS) text = ': still here\n\n';
      if (text !== '') {
        silentSince = Date.now();
        yield text;
      }
      if (isEnd) return;
      if (hasAll) await wake.wait(POLL_MS);
    }
  } finally {
    await Promise.all(stops.map((stop) => stop()));
  }
}
