// Responses of server-sent events, with a limit on open streams per process. Events come from build-log-events.ts and
// line-events.ts. The next event is read only when the client has received the last one.
import type { Dependencies } from '../../process/dependencies.ts';
import { ApiError } from '../../http/errors.ts';

/** Silence after which a keep-alive comment is sent, in ms. */
const COMMENT_MS = 15_000;

/** Open streams of one kind in this API process. */
export interface EventStreams {
  /**
   * Responds with a stream of texts, until they end or the client disconnects.
   *
   * @param texts serialized events; '' means that there is no new event.
   * @throws {ApiError} `unavailable` when the limit of open streams is reached.
   */
  answer(deps: Dependencies, texts: (gone: AbortSignal) => AsyncGenerator<string, void>, signal: AbortSignal): Response;
}

/** @param what kind of stream, for errors: `logs`. */
export function createEventStreams(what: string): EventStreams {
  let open = 0;
  return {
    answer(deps, texts, signal) {
      if (open >= deps.limits.logFollowersMax)
        throw new ApiError(
          'unavailable',
          { reason: `Too many clients follow ${what}: try again in 5 s` },
          { 'retry-after': '5' },
        );
      open++;
      const events = kept(texts(AbortSignal.any([signal, deps.stopping])));
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
            deps.log.error({ err: error, what }, 'Following failed');
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

/** Adds keep-alive comments after a silence. */
async function* kept(texts: AsyncGenerator<string, void>): AsyncGenerator<string, void> {
  let silentSince = Date.now();
  for await (const text of texts) {
    if (text === '' && Date.now() - silentSince <= COMMENT_MS) continue;
    silentSince = Date.now();
    yield text === '' ? ': still here\n\n' : text;
  }
}
