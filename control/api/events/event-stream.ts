// Answers of server-sent events, as many at once as the process may have open. What an event says is for
// build-log-events.ts and line-events.ts; it reads on only when the client has taken what it got.
import type { Dependencies } from '../../process/dependencies.ts';
import { ApiError } from '../../http/errors.ts';

/** Silence after which a comment says that the connection lives, ms. */
const COMMENT_MS = 15_000;

/** Streams of one kind that one API process has open. */
export interface EventStreams {
  /**
   * Answers with texts as they come, until they end or the client is gone.
   *
   * @param texts of events; '' says that there is nothing new.
   * @throws {ApiError} `unavailable` when as many are open as may.
   */
  answer(
    parts: Dependencies,
    texts: (gone: AbortSignal) => AsyncGenerator<string, void>,
    signal: AbortSignal,
  ): Response;
}

/** @param what they follow, for errors: `logs`. */
export function createEventStreams(what: string): EventStreams {
  let open = 0;
  return {
    answer(parts, texts, signal) {
      if (open >= parts.limits.logFollowersMax)
        throw new ApiError('unavailable', { reason: `Too many ${what} are followed` }, { 'retry-after': '5' });
      open++;
      const events = kept(texts(AbortSignal.any([signal, parts.stopping])));
      const encoder = new TextEncoder();
      let isOver = false;
      const over = (): void => {
        if (!isOver) open--;
        isOver = true;
      };
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          try {
            const { done, value } = await events.next();
            if (!done) return controller.enqueue(encoder.encode(value));
          } catch (error) {
            parts.log.error({ err: error, what }, 'Following failed');
          }
          over();
          controller.close();
        },
        async cancel() {
          over();
          await events.return(undefined);
        },
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' } });
    },
  };
}

/** Says after a silence that the connection lives. */
async function* kept(texts: AsyncGenerator<string, void>): AsyncGenerator<string, void> {
  let silentSince = Date.now();
  for await (const text of texts) {
    if (text === '' && Date.now() - silentSince <= COMMENT_MS) continue;
    silentSince = Date.now();
    yield text === '' ? ': still here\n\n' : text;
  }
}
