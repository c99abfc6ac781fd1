// One HTTP request to a server, with limits on time and bytes. Redirects are not followed: only the URL given by the
// user is called. The platform's egress policy refuses private addresses. Called by manifest.ts and client.ts.
import { eventsOf } from '../sse.ts';

/** A request. */
export interface Exchange {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly timeoutMs: number;
  readonly bytesMax: number;
}

/** A response. */
export interface Exchanged {
  readonly status: number;
  readonly headers: Headers;
  /** The whole body or, for a stream, the first matching event. */
  readonly text: string;
}

/** A server's error status, or the lack of a response. */
export class McpError extends Error {
  override readonly name = 'McpError';
  readonly status: number;
  /** Whether the response is an error of the protocol, rather than of HTTP. */
  readonly isOfProtocol: boolean;

  constructor(message: string, status = 0, isOfProtocol = false) {
    super(message);
    this.status = status;
    this.isOfProtocol = isOfProtocol;
  }
}

/**
 * Sends a request and reads the response. @param isWanted selects the event of a stream that is the response; other
 * events are skipped. @throws McpError that describes the problem with the response, or a missing response.
 */
export async function exchange(asked: Exchange, isWanted?: (event: string) => boolean): Promise<Exchanged> {
  const { method, url, headers, body, timeoutMs, bytesMax } = asked;
  const controller = new AbortController();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    controller.abort();
  }, timeoutMs);
  try {
    const response = await fetch(url, {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      redirect: 'manual',
      signal: controller.signal,
    });
    if (response.status >= 300 && response.status < 400)
      throw new McpError(`${url} answers with a redirect, which is not followed`, response.status);
    const bounded = boundedBody(response, url, bytesMax);
    const isStream = (response.headers.get('content-type') ?? '').includes('text/event-stream');
    const text = isStream && isWanted !== undefined ? await find(bounded, isWanted, asked) : await textOf(bounded);
    return { status: response.status, headers: response.headers, text };
  } catch (error) {
    if (error instanceof McpError) throw error;
    if (isLate) throw new McpError(`${url} did not answer within ${timeoutMs} ms`);
    throw new McpError(`${url} does not answer: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    clearTimeout(timer);
    // After a response, aborting also ends the rest of its stream.
    controller.abort();
  }
}

async function find(
  stream: ReadableStream<Uint8Array>,
  isWanted: (event: string) => boolean,
  { url, bytesMax }: Exchange,
): Promise<string> {
  for await (const event of eventsOf(stream, bytesMax)) if (isWanted(event)) return event;
  throw new McpError(`${url} ended its stream before the answer`);
}

async function textOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  return new Response(stream).text();
}

function boundedBody(response: Response, url: string, bytesMax: number): ReadableStream<Uint8Array> {
  let bytes = 0;
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      if ((bytes += chunk.length) > bytesMax) throw new McpError(`${url} answers with more than ${bytesMax} bytes`);
      controller.enqueue(chunk);
    },
  });
  return (response.body ?? new Blob([]).stream()).pipeThrough(counting);
}
