// One request to a listener on this machine, as tests send it. Apart from handler.ts, which loads a whole engine.
import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

// Imported, it would load Node's HTTP client too.
const { Agent, request } = process.getBuiltinModule('node:http');

/**
 * Node's own agent keeps a connection for a second less than the listener does: on a busy machine it sends on one that
 * is being closed.
 */
const agent = new Agent({ keepAlive: true, timeout: 1000 });

/** A response as tests look at it. */
export interface TestResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
  json(): unknown;
}

/** Options of a request. */
export interface TestRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Uint8Array;
}

/** One HTTP request to this machine with a Host header. */
export async function send(port: number, host: string, path: string, options: TestRequest = {}): Promise<TestResponse> {
  const sent = request({
    agent,
    host: '127.0.0.1',
    port,
    path,
    method: options.method ?? 'GET',
    headers: { ...options.headers, host },
  });
  sent.end(options.body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const text = body.toString('utf8');
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body,
    text,
    json: () => JSON.parse(text) as unknown,
  };
}
