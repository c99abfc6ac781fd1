// Client for the API of a container engine (Docker, or podman's service) on its Unix socket: requests, uploads, and
// attaching to a container's standard streams. Used by the files in this folder; independent of sandboxes.
import { Agent, request, type IncomingMessage } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { Failure, isFailure } from '#core/failure.ts';

/** The API version, supported since Docker 20.10 and podman 4. */
const VERSION = '/v1.40';
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
const CALL_MS = 60_000;

/** A container engine. */
export interface EngineApi {
  /** @param body sent as JSON. @throws {Failure} `container_engine` */
  call<Answer = unknown>(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Uploads a tar archive. @throws {Failure} `container_engine` */
  upload(path: string, archive: Readable): Promise<void>;
  /**
   * Attaches: written data is the container's input; its output has frame headers. @throws {Failure} `container_engine`
   */
  attach(container: string): Promise<Duplex>;
  close(): void;
}

/** @param socketPath the engine's socket. */
export function openEngineApi(socketPath: string): EngineApi {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const failure = (error: NodeJS.ErrnoException): Failure<'container_engine'> =>
    new Failure(
      'container_engine',
      `The container engine at ${socketPath} does not answer: ${error.code ?? error.message}`,
      { status: 0, cause: error },
    );

  async function call<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const text = body === undefined ? null : JSON.stringify(body);
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = text === null ? {} : { 'content-type': 'application/json' };
      const options = { socketPath, agent, method, path: VERSION + path, headers, timeout: CALL_MS };
      const asking = request(options, resolve);
      asking.on('timeout', () => asking.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })));
      asking.on('error', (error) => reject(failure(error)));
      asking.end(text);
    });
    return read(answer, method, path) as Promise<Answer>;
  }

  async function read(answer: IncomingMessage, method: string, path: string): Promise<unknown> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > ANSWER_BYTES_MAX) throw new Error(`more than ${ANSWER_BYTES_MAX} bytes`);
        chunks.push(chunk);
      }
    } catch (error) {
      throw failure(error as Error);
    }
    const text = Buffer.concat(chunks).toString();
    const status = answer.statusCode ?? 0;
    if (status >= 400)
      throw new Failure('container_engine', `${method} ${path.replace(/\?.*/, '')}: ${messageOf(text)}`, { status });
    try {
      return text.trim() === '' ? null : JSON.parse(text);
    } catch {
      return null;
    }
  }

  return {
    call,
    async upload(path, archive) {
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        const headers = { 'content-type': 'application/x-tar' };
        const asking = request({ socketPath, method: 'PUT', path: VERSION + path, headers }, resolve);
        asking.on('error', (error) => reject(failure(error)));
        archive.on('error', (error) => asking.destroy(error)).pipe(asking);
      });
      await read(answer, 'PUT', path);
    },
    attach(container) {
      const path = `/containers/${container}/attach?stream=1&stdin=1&stdout=1`;
      return new Promise((resolve, reject) => {
        const headers = { connection: 'Upgrade', upgrade: 'tcp' };
        const asking = request({ socketPath, method: 'POST', path: VERSION + path, headers, timeout: CALL_MS });
        asking.on('upgrade', (_answer, socket, head) => {
          socket.setTimeout(0);
          if (head.length > 0) socket.unshift(head);
          resolve(socket);
        });
        asking.on('response', (answer) => {
          read(answer, 'POST', path).then(
            () =>
              reject(
                new Failure('container_engine', 'The container engine cannot attach', {
                  status: answer.statusCode ?? 0,
                }),
              ),
            reject,
          );
        });
        asking.on('timeout', () => asking.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })));
        asking.on('error', (error) => reject(isFailure(error, 'container_engine') ? error : failure(error)));
        asking.end();
      });
    },
    close: () => agent.destroy(),
  };
}

function messageOf(text: string): string {
  try {
    const { message, cause } = JSON.parse(text) as { message?: unknown; cause?: unknown };
    return String(message ?? cause ?? text).slice(0, 500);
  } catch {
    return text.slice(0, 500);
  }
}
