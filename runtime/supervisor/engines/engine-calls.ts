// Calls an engine over its Unix socket: `/_platform/...`, answered by main.ts of the engine. Used by the private
// port. Responses of engines are untrusted: sizes and times are limited here.
import type { Agent } from 'node:http';
import { Failure } from '#core/failure.ts';

// `node:http` is not imported, because an import reads all exports and so loads Node's HTTP client, which costs every
// process 67 ms of CPU.
const http = process.getBuiltinModule('node:http');

/** One call. */
interface EngineCall {
  readonly socketPath: string;
  readonly path: string;
  /** Body of a POST request; without a body, the request is a GET. */
  readonly body?: Uint8Array;
  /** Headers in addition to the body's length; the content type is JSON by default. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Time limit until the response is complete. */
  readonly timeoutMs: number;
  readonly bytesMax: number;
  readonly signal?: AbortSignal;
  /** Connections from {@link createEngineConnections}; if undefined, a new connection is opened. */
  readonly connections?: Agent;
}

/**
 * Keeps connections to engines open between calls, because opening a connection costs more than a small call. Idle
 * connections do not keep the process alive.
 */
export function createEngineConnections(): Agent {
  return new http.Agent({ keepAlive: true, maxFreeSockets: KEPT_MAX });
}

/** Idle connections per engine. */
const KEPT_MAX = 64;

/** Its response. */
export interface EngineAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
}

/** @throws {Failure} `engine_call` */
export function askEngine(call: EngineCall): Promise<EngineAnswer> {
  return new Promise((resolve, reject) => {
    let connected = false;
    const isPost = call.body !== undefined;
    const sent = http.request({
      socketPath: call.socketPath,
      path: call.path,
      method: isPost ? 'POST' : 'GET',
      headers: isPost
        ? {
            host: 'engine',
            'content-type': 'application/json',
            ...call.headers,
            'content-length': call.body!.byteLength,
          }
        : { host: 'engine' },
      agent: call.connections ?? false,
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    });
    const timer = setTimeout(
      () =>
        fail(new Failure('engine_call', `no answer to ${call.path} within ${call.timeoutMs} ms`, { reason: 'late' })),
      call.timeoutMs,
    );
    const fail = (error: Failure<'engine_call'>): void => {
      clearTimeout(timer);
      reject(error);
      sent.destroy();
    };
    const broken = (error: Error): void =>
      fail(new Failure('engine_call', error.message, { reason: connected ? 'lost' : 'unreached' }));
    sent.on('socket', (socket) => {
      // A request on a reused connection that breaks may have been started.
      if (sent.reusedSocket) connected = true;
      else socket.once('connect', () => (connected = true));
    });
    sent.on('error', broken);
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength;
        if (bytes > call.bytesMax)
          fail(
            new Failure('engine_call', `the answer to ${call.path} is larger than ${call.bytesMax} bytes`, {
              reason: 'too_large',
            }),
          );
        else chunks.push(chunk);
      });
      response.on('error', broken);
      response.on('end', () => {
        clearTimeout(timer);
        resolve({
          status: response.statusCode ?? 0,
          contentType: response.headers['content-type'] ?? '',
          body: Buffer.concat(chunks),
        });
      });
    });
    sent.end(call.body);
  });
}

/** The JSON response of an engine to a GET. @throws {Failure} `engine_call` also if it is not JSON. */
export async function readFromEngine(socketPath: string, path: string): Promise<unknown> {
  const { status, body } = await askEngine({ socketPath, path, timeoutMs: READ_MS_MAX, bytesMax: READ_BYTES_MAX });
  if (status !== 200) throw new Failure('engine_call', `status ${status}`, { reason: 'lost' });
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    throw new Failure('engine_call', 'the answer is not JSON', { reason: 'lost' });
  }
}

/** An engine that does not respond within this time is shown as unresponsive. */
const READ_MS_MAX = 1000;
const READ_BYTES_MAX = 32 * 1024 * 1024;
