// Event streams and sockets stay open after their request was authorized. The platform closes such connections when the
// caller loses access, which is checked again at intervals. Used by middleware.ts.
import { guardSocket } from '#resources/offered-socket.ts';

/** How access is checked again. */
interface AccessCheck {
  readonly isAllowed: () => Promise<boolean>;
  readonly everyMs: number;
}

/** Close code of a WebSocket (RFC 6455). */
const POLICY_VIOLATION = 1008;

/**
 * Returns the response. If it is an event stream, it ends once the caller loses access. A socket that the request opens
 * ends in the same way.
 */
export function whileAllowed(request: Request, response: Response, check: AccessCheck): Response {
  guardSocket(request, (socket) => {
    const timer = setInterval(() => {
      const end = (): void => socket.close(POLICY_VIOLATION, 'Access revoked');
      check.isAllowed().then((isAllowed) => isAllowed || end(), end);
    }, check.everyMs);
    return () => clearInterval(timer);
  });
  if (response.body === null || response.headers.get('content-type') !== 'text/event-stream') return response;
  return new Response(endingBody(response.body, check), response);
}

function endingBody(body: ReadableStream<Uint8Array>, { isAllowed, everyMs }: AccessCheck): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let checkedAt = Date.now();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        // Check before sending data that was written since the last check.
        if (Date.now() - checkedAt >= everyMs) {
          if (!(await isAllowed().catch(() => false))) {
            // This is not awaited, because cancelling may wait for the next event.
            reader.cancel().catch(() => {});
            return controller.close();
          }
          checkedAt = Date.now();
        }
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
