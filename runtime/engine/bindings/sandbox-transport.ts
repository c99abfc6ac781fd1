// The transport to the sandbox service: over HTTP to its process, or over a private socket in `platform dev`. The token
// is added here, so that workers never have access to it.
import { connect as connectTo, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { Agent } from 'undici';
import { PORT_ORIGIN_HEADER } from '#core/sandbox/exposed-port.ts';
import { loadFetchLibrary } from './fetch-agent.ts';
import { requestOf, type FetchedResponse } from './fetched-response.ts';

/** A request to the service. */
export interface SandboxRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** The path from `/v1` on. */
  readonly path: string;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
  readonly body: Uint8Array | string | Readable | null;
  readonly signal: AbortSignal | null;
}

/** The address and headers of a WebSocket to the service. */
interface SandboxHandshake {
  readonly url: string;
  /** Opens the connection, if the URL is not sufficient for that. */
  readonly connect?: () => Socket;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
}

export interface SandboxTransport {
  /** @throws {PlatformError} `fetch_failed` if the service cannot be reached. */
  request(request: SandboxRequest): Promise<FetchedResponse>;
  /** Returns how to open a WebSocket to the service. @param path from `/v1` on. */
  handshake(path: string): Promise<SandboxHandshake>;
  close(): Promise<void>;
}

/** Maximum size of headers: a response of a server in a sandbox has its status and headers in one header. */
const HEADERS_BYTES_MAX = 64 * 1024;

/**
 * @param address `socketPath` is used instead of the origin's host; `portOrigin` is the origin of exposed ports, such
 * as `https://*.apps.example.net`.
 */
export function createSandboxTransport(address: {
  readonly origin: string;
  readonly socketPath?: string;
  readonly token: string;
  readonly portOrigin?: () => string;
}): SandboxTransport {
  const { origin, socketPath, token, portOrigin } = address;
  let library: Promise<Agent> | null = null;
  const connect = (): Promise<Agent> =>
    (library ??= loadFetchLibrary().then(
      ({ Agent: Connections, buildConnector }) =>
        new Connections({
          connect: buildConnector({ ...(socketPath === undefined ? {} : { socketPath }), allowH2: false }),
          allowH2: false,
          bodyTimeout: 0,
          headersTimeout: 0,
          maxHeaderSize: HEADERS_BYTES_MAX,
        }),
    ));
  return {
    async request({ method, path, headers, body, signal }) {
      const agent = await connect();
      const sent = [...headers, 'authorization', `Bearer ${token}`];
      if (portOrigin !== undefined) sent.push(PORT_ORIGIN_HEADER, portOrigin());
      return requestOf(agent, { origin, path, method }, { headers: sent, body, signal }, 'the sandbox service');
    },
    handshake: async (path) => ({
      url: `${origin.replace(/^http/, 'ws')}${path}`,
      ...(socketPath === undefined ? {} : { connect: () => connectTo(socketPath) }),
      headers: ['authorization', `Bearer ${token}`],
    }),
    async close() {
      await (await library)?.destroy();
    },
  };
}
