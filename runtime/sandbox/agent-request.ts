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
  const outgoing = request({
    createConnection: () => connection,
    method: 'POST',
    path: `/${operation}`,
    headers: {
      host: 'agent',
      connection: 'close',
      'transfer-encoding': 'chunked',
      ...(args === null ? {} : { [ARGUMENTS_HEADER]: args }),
    },
    maxHeaderSize: HEADERS_BYTES_MAX,
    signal,
  } as RequestOptions);
  try {
    return await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve).on('error', reject);
      void send(body, outgoing).catch(reject);
    });
  } catch (error) {
    outgoing.destroy();
    if (error instanceof PlatformError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new PlatformError('sandbox_lost', { reason: code ?? message }, { cause: error });
  }
}

/** An agent may answer before it has read everything, with an error for instance: then nothing more is sent. */
async function send(body: AgentRequest['body'], outgoing: ReturnType<typeof request>): Promise<void> {
  let answered = false;
  outgoing.once('response', () => (answered = true)).once('close', () => (answered = true));
  for await (const chunk of body) {
    if (answered || outgoing.destroyed) return;
    if (!outgoing.write(chunk))
      await new Promise<void>((resolve) => void outgoing.once('drain', resolve).once('close', resolve));
  }
  outgoing.end();
}
