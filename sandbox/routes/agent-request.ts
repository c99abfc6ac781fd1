// Sends one request over a connection to a sandbox's agent (routes.ts, and backend tests), or to another replica of the
// service (service/replicas.ts).
import type { IncomingMessage, RequestOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import { SANDBOX_LIMITS } from '#core/sandbox/call-limits.ts';
import { ARGUMENTS_HEADER, isDuplex, type AskedOperation } from '#core/sandbox/operations.ts';

// An import of the module evaluates all exports, including getters that load Node's own HTTP client.
const { request } = process.getBuiltinModule('node:http');

/** Header size limit for requests to servers in sandboxes and their responses. */
const HEADERS_BYTES_MAX = 64 * 1024;

/** Longer than any time limit of the agent, for the response headers to arrive. */
export const HEAD_MS_MAX = SANDBOX_LIMITS.commandMsMax + 60_000;

/** The request. `args`: for an operation with a binary body, sent in a header. */
interface AgentRequest {
  readonly operation: AskedOperation;
  readonly args: string | null;
  readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  /** Aborts it. */
  readonly signal: AbortSignal;
}

/**
 * Returns the agent's response, whatever its status; its body must be read or destroyed. It is untrusted.
 *
 * @throws {PlatformError} `sandbox_lost`
 */
export function askAgent(
  connection: Duplex,
  { operation, args, body, signal }: AgentRequest,
): Promise<IncomingMessage> {
  const headers = { host: 'agent', ...(args === null ? {} : { [ARGUMENTS_HEADER]: args }) };
  return askOver(connection, {
    method: 'POST',
    path: `/${operation}`,
    headers,
    body,
    signal,
    isDuplex: isDuplex(operation),
  });
}

/** With the header `expect`, the body is only read when the other side asks for it. */
export async function askOver(
  connection: Duplex,
  asked: Pick<AgentRequest, 'body' | 'signal'> & {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    /** The body is sent while the response arrives. */
    readonly isDuplex?: boolean;
  },
): Promise<IncomingMessage> {
  const { method, path, headers, body, signal, isDuplex: goesOn = false } = asked;
  // Also handles errors after the request, when there are no other listeners.
  connection.on('error', () => {});
  const outgoing = request({
    createConnection: () => connection,
    method,
    path,
    headers: {
      ...headers,
      // Closing with an unread body would reset the response.
      connection: 'keep-alive',
      'transfer-encoding': 'chunked',
    },
    maxHeaderSize: HEADERS_BYTES_MAX,
    signal,
  } as RequestOptions);
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve).on('error', reject);
      // A response with an upgrade ends the request without an error.
      outgoing.once('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
      const start = (): void => void send(body, outgoing, goesOn).catch(reject);
      if (headers['expect'] === undefined) return start();
      outgoing.once('continue', start).flushHeaders();
    });
    return answer.once('close', () => connection.destroy());
  } catch (error) {
    outgoing.destroy();
    if (error instanceof PlatformError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new PlatformError('sandbox_lost', { reason: code ?? message }, { cause: error });
  }
}

/** An agent may respond before it has read everything, with an error for example; the rest of the body is discarded. */
async function send(body: AgentRequest['body'], outgoing: ReturnType<typeof request>, goesOn: boolean): Promise<void> {
  let answered = false;
  let wake = (): void => {};
  const end = (): void => {
    answered = true;
    wake();
  };
  outgoing.once('close', end);
  if (!goesOn) outgoing.once('response', end);
  outgoing.on('drain', () => wake());
  for await (const chunk of body) {
    if (answered || outgoing.write(chunk)) continue;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  outgoing.end();
}
