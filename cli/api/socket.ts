// WebSockets of the API: opened with the token, with backpressure. A refused connection causes the same error as any
// other refused call.
import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import type { Api } from '../account/api.ts';
import { CliError } from '../terminal/failure.ts';
import { failureOf, withQuery, type Query } from './requests.ts';

/** An open socket. */
export interface ApiSocket {
  /** Resolves when the message is sent. */
  send(data: Uint8Array | string): Promise<void>;
  /** The received messages, until either side closes the socket. */
  readonly messages: AsyncIterable<{ readonly bytes: Uint8Array; readonly isBinary: boolean }>;
  close(): void;
}

const REFUSAL_BYTES_MAX = 64 * 1024;
const MESSAGE_BYTES_MAX = 1024 * 1024;
const OPEN_MS = 60_000;

/** @throws {CliError} with the API's message, or if there is no response. */
export async function openSocket(api: Api, path: string, query: Query): Promise<ApiSocket> {
  const { WebSocket: Socket } = await import('ws');
  const socket = new Socket(`${api.origin.replace(/^http/, 'ws')}${withQuery(path, query)}`, {
    headers: { authorization: `Bearer ${api.token}` },
    perMessageDeflate: false,
    maxPayload: MESSAGE_BYTES_MAX,
    handshakeTimeout: OPEN_MS,
  });
  const messages = messagesOf(socket);
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('unexpected-response', (_request, answer) => void refusal(api, answer).then(reject, reject));
    socket.on('error', (error: NodeJS.ErrnoException) =>
      reject(
        new CliError(`The platform at ${api.origin} does not answer: ${error.code ?? error.message}`, {
          advice:
            'Check that the platform is running and that the URL is right: --api, PLATFORM_API_URL or `platform login`.',
        }),
      ),
    );
  });
  return {
    send: (data) => new Promise((resolve) => socket.send(data, () => resolve())),
    messages,
    close: () => socket.terminate(),
  };
}

async function refusal(api: Api, answer: IncomingMessage): Promise<CliError> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > REFUSAL_BYTES_MAX) break;
    chunks.push(chunk);
  }
  return failureOf(api, new Response(Buffer.concat(chunks), { status: Math.max(400, answer.statusCode ?? 500) }));
}

/** Buffers messages immediately, so that none is lost before iteration starts. */
function messagesOf(socket: WebSocket): ApiSocket['messages'] {
  const waiting: { bytes: Uint8Array; isBinary: boolean }[] = [];
  let isClosed = false;
  let wake = (): void => {};
  socket.on('message', (data, isBinary) => {
    waiting.push({ bytes: data as Buffer, isBinary });
    socket.pause();
    wake();
  });
  socket.once('close', () => {
    isClosed = true;
    wake();
  });
  async function* taken(): AsyncGenerator<{ bytes: Uint8Array; isBinary: boolean }> {
    for (;;) {
      const message = waiting.shift();
      if (message !== undefined) {
        yield message;
        continue;
      }
      if (isClosed) return;
      if (socket.readyState === socket.OPEN) socket.resume();
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  return taken();
}
