// What stays open after a request was let in, an event stream or a socket, ends when whoever asked may not any more:
// they are asked about again from time to time. Used by surround.ts.
import { guardSocket } from '#resources/offered-socket.ts';

/** What it takes. */
export interface Asking {
  /** Whether whoever has asked still may. */
  readonly isAllowed: () => Promise<boolean>;
  /** After which they are asked about again. */
  readonly everyMs: number;
}

/** The answer, which ends with the right to it where it is a stream of events; a socket of the request does as well. */
export function whileAllowed(request: Request, response: Response, asking: Asking): Response {
  guardSocket(request, (socket) => {
    const timer = setInterval(() => {
      const end = (): void => socket.close(POLICY_VIOLATION, 'You may not any more');
      asking.isAllowed().then((isAllowed) => isAllowed || end(), end);
    }, asking.everyMs);
    return () => clearInterval(timer);
  });
  if (response.body === null || response.headers.get('content-type') !== 'text/event-stream') return response;
  return new Response(endingBody(response.body, asking), response);
}

const POLICY_VIOLATION = 1008;

function endingBody(body: ReadableStream<Uint8Array>, { isAllowed, everyMs }: Asking): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let askedAt = Date.now();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        // Before anything that was written since then goes out.
        if (Date.now() - askedAt >= everyMs) {
          if (!(await isAllowed().catch(() => false))) {
            // It may wait for what comes next: nobody waits for that.
            reader.cancel().catch(() => {});
            return controller.close();
          }
          askedAt = Date.now();
        }
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
