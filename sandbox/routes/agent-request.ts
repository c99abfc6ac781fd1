// One request over a connection to the agent of a sandbox (routes.ts, and tests of backends), or to another replica of
// the service (service/replicas.ts).
import type { IncomingMessage, RequestOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import { SANDBOX_BOUNDS } from '#core/sandbox/call-limits.ts';
import { ARGUMENTS_HEADER, isDuplex, type AskedOperation } from '#core/sandbox/operations.ts';

// An import reads all its exports, among them the getters that load Node's own HTTP client.
const { request } = process.getBuiltinModule('node:http');

/** Room for the heads of requests to and answers of servers in sandboxes. */
export const HEADERS_BYTES_MAX = 64 * 1024;

/** Above what an agent may do at most, for the answer's head to come. */
export const HEAD_MS_MAX = SANDBOX_BOUNDS.commandMsMax + 60_000;

/** What is asked. `args`: of an operation whose body is bytes, as the header has it. */
export interface AgentRequest {
  readonly operation: AskedOperation;
  readonly args: string | null;
  readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/**
 * The agent's answer, whatever its status; its body has to be read, or destroyed. What comes from there is a tenant's.
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

/** With the header `expect`, the body is asked for only once the other side wants it. */
export async function askOver(
  connection: Duplex,
  asked: Pick<AgentRequest, 'body' | 'signal'> & {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    /** The body goes on while the answer comes. */
    readonly isDuplex?: boolean;
  },
): Promise<IncomingMessage> {
  const { method, path, headers, body, signal, isDuplex: goesOn = false } = asked;
  // Also after the request is over, when nobody else listens any more.
  connection.on('error', () => {});
  const outgoing = request({
    createConnection: () => connection,
    method,
    path,
    headers: {
      ...headers,
      // One that closes with the body unread would take its own answer back.
      connection: 'keep-alive',
      'transfer-encoding': 'chunked',
    },
    maxHeaderSize: HEADERS_BYTES_MAX,
    signal,
  } as RequestOptions);
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve).on('error', reject);
      // An answer that asks for another protocol ends the request without an error.
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

/** An agent may answer before it has read everything, with an error for instance: what comes then is left out. */
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
