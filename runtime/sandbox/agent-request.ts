// One request to the agent of a sandbox over a connection to it. Used by routes.ts, and by tests of backends.
import type { IncomingMessage, RequestOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import { ARGUMENTS_HEADER, type AgentOperation } from '#core/sandbox/operations.ts';

// An import reads all its exports, among them the getters that load Node's own HTTP client.
const { request } = process.getBuiltinModule('node:http');

/** Room for the heads of requests to and answers of servers in sandboxes. */
export const HEADERS_BYTES_MAX = 64 * 1024;

/** What is asked. `args`: of an operation whose body is bytes, as the header has it. */
export interface AgentRequest {
  readonly operation: AgentOperation;
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
export async function askAgent(connection: Duplex, asked: AgentRequest): Promise<IncomingMessage> {
  const { operation, args, body, signal } = asked;
  // Also after the request is over, when nobody else listens any more.
  connection.on('error', () => {});
  const outgoing = request({
    createConnection: () => connection,
    method: 'POST',
    path: `/${operation}`,
    headers: {
      host: 'agent',
      // One that closes with the body unread would take its own answer back.
      connection: 'keep-alive',
      'transfer-encoding': 'chunked',
      ...(args === null ? {} : { [ARGUMENTS_HEADER]: args }),
    },
    maxHeaderSize: HEADERS_BYTES_MAX,
    signal,
  } as RequestOptions);
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve).on('error', reject);
      void send(body, outgoing).catch(reject);
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
async function send(body: AgentRequest['body'], outgoing: ReturnType<typeof request>): Promise<void> {
  let answered = false;
  let wake = (): void => {};
  const end = (): void => {
    answered = true;
    wake();
  };
  outgoing.once('response', end).once('close', end);
  outgoing.on('drain', () => wake());
  for await (const chunk of body) {
    if (answered || outgoing.write(chunk)) continue;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  outgoing.end();
}
