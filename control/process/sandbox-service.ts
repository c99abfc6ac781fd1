// HTTP connection to the sandbox service: bodies stream, and a disconnect on either side ends the other. Only this file
// uses the token of the service.
import type { Pool } from 'undici';
import { PlatformError } from '#core/errors.ts';
import { PORT_ORIGIN_HEADER } from '#core/sandbox/exposed-port.ts';
import type { SandboxServiceAddress } from '#core/sandbox/service-client.ts';
import type { SandboxService } from '#resources/sandbox-calls.ts';
import type { Addresses } from '../process/configuration.ts';

/** The service, and a function that closes its connections. */
interface SandboxServiceProxy extends SandboxService {
  close(): Promise<void>;
}

/** The origin of exposed ports, derived from the API's configuration in the same way as engines do. */
export function portOrigin({ protocol, domain, port }: Pick<Addresses, 'protocol' | 'domain' | 'port'>): string {
  return `${protocol}://*.${domain}${port === null ? '' : `:${port}`}`;
}

/** Maximum concurrent calls; further calls are queued. */
const CONNECTIONS_MAX = 2048;
const CONNECT_MS = 10_000;
const KEPT_MS = 1000;
/** Codes of errors that occur before a request is sent. */
const UNREACHED = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'];

/** @param address null if there is no service. @param portsAt origin of exposed ports, by {@link portOrigin}. */
export function openSandboxService(address: SandboxServiceAddress | null, portsAt: string): SandboxServiceProxy | null {
  if (address === null) return null;
  let pool: Promise<Pool> | null = null;
  // Loading undici takes 135 ms and 18 MB, so only do it when needed.
  const open = async (): Promise<Pool> => {
    const { Pool: Connections } = await import('undici');
    return new Connections(address.url, {
      connections: CONNECTIONS_MAX,
      connect: { timeout: CONNECT_MS },
      // Much shorter than the service's timeout: a call on a connection that is being closed is lost.
      keepAliveTimeout: KEPT_MS,
      keepAliveMaxTimeout: KEPT_MS,
      allowH2: false,
      bodyTimeout: 0,
      headersTimeout: 0,
    });
  };
  return {
    async request({ method, path, headers, body, signal }) {
      const connections = await (pool ??= open());
      const sent = [...headers, 'authorization', `Bearer ${address.token}`, PORT_ORIGIN_HEADER, portsAt];
      try {
        return await connections.request({ method, path, headers: sent, body, signal });
      } catch (error) {
        if (!UNREACHED.includes(String((error as { code?: unknown }).code))) throw error;
        throw new PlatformError(
          'sandbox_unavailable',
          { reason: 'the sandbox service cannot be reached: try again' },
          { cause: error },
        );
      }
    },
    close: async () => (await pool)?.destroy(),
  };
}
