// Lines as they come, as server-sent events: `line` with its number as id. Woken by NOTIFY, with a poll besides. It
// reads on only when the client has taken what it got.
import type { Parts } from '../parts.ts';
import { lastSeq, readLinesAfter, type LineQuestion } from '../telemetry/lines.ts';
import { ApiError } from './errors.ts';
import { createWake } from './wake.ts';

const POLL_MS = 5000;
const LINES_TOGETHER = 500;
/** Silence after which a comment says that the connection lives. */
const COMMENT_MS = 15_000;

/** Streams of one API process. */
export interface LineStreams {
  /**
   * Follows the lines of a project.
   *
   * @param after number of the last line that the client has; null: what comes from now on.
   * @throws {ApiError} `unavailable` when too many are followed.
   */
  follow(parts: Parts, projectId: string, asked: LineQuestion, after: number | null, signal: AbortSignal): Response;
}

export function createLineStreams(): LineStreams {
  let open = 0;
  return {
    follow(parts, projectId, asked, after, signal) {
      if (open >= parts.limits.logFollowersMax)
        throw new ApiError(
          'unavailable',
          { reason: 'Too many logs are followed (API_LOG_FOLLOWERS_MAX)' },
          { 'retry-after': '5' },
        );
      open++;
      const lines = follow(parts, projectId, asked, after, AbortSignal.any([signal, parts.stopping]));
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
            parts.log.error({ err: error, projectId }, 'Following lines failed');
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

async function* follow(
  parts: Parts,
  projectId: string,
  asked: LineQuestion,
  after: number | null,
  gone: AbortSignal,
): AsyncGenerator<string, void> {
  const wake = createWake(gone);
  // It listens before it reads: what comes between is not missed.
  const stop = await parts.onNotify('control_telemetry', (projects) => {
    if (projects === '*' || projects.includes(projectId)) wake.now();
  });
  try {
    let seq = after ?? (await lastSeq(parts.sql));
    let silentSince = Date.now();
    yield ': lines\n\n';
    while (!gone.aborted) {
      const lines = await readLinesAfter(parts.sql, projectId, asked, seq, LINES_TOGETHER);
      seq = Number(lines.at(-1)?.id ?? seq);
      let text = lines.map((line) => `id: ${line.id}\nevent: line\ndata: ${JSON.stringify(line)}\n\n`).join('');
      if (text === '' && Date.now() - silentSince > COMMENT_MS) text = ': still here\n\n';
      if (text !== '') {
        silentSince = Date.now();
        yield text;
      }
      if (lines.length < LINES_TOGETHER) await wake.wait(POLL_MS);
    }
  } finally {
    await stop();
  }
}
