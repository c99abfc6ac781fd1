// The way to the sandbox service, over HTTP: bodies stream, and who hangs up on either side ends the other. Its token
// is said here and nowhere else in the control plane.
import type { Pool } from 'undici';
import { PlatformError } from '#core/errors.ts';
import { PORT_ORIGIN_HEADER } from '#core/sandbox/exposed-port.ts';
import type { SandboxServiceAddress } from '#core/sandbox/service-client.ts';
import type { SandboxService } from '#resources/sandbox-calls.ts';
import type { Addresses } from '../process/configuration.ts';

/** With what closes its connections. */
export interface SandboxServiceHop extends SandboxService {
  close(): Promise<void>;
}

/** Where exposed ports are visited: as engines have it, of what the API knows of them. */
export function portOrigin({ protocol, domain, port }: Pick<Addresses, 'protocol' | 'domain' | 'port'>): string {
  return `${protocol}://*.${domain}${port === null ? '' : `:${port}`}`;
}

/** Calls at a time; more of them wait. */
const CONNECTIONS_MAX = 2048;
const CONNECT_MS = 10_000;
const KEPT_MS = 1000;
/** Nothing was sent. */
const UNREACHED = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'];

/** @param address null: there is no service. @param portsAt where exposed ports are visited, by {@link portOrigin}. */
export function openSandboxService(address: SandboxServiceAddress | null, portsAt: string): SandboxServiceHop | null {
  if (address === null) return null;
  let pool: Promise<Pool> | null = null;
  // 135 ms and 18 MB, for whoever has sandboxes.
  const open = async (): Promise<Pool> => {
    const { Pool: Connections } = await import('undici');
    return new Connections(address.url, {
      connections: CONNECTIONS_MAX,
      connect: { timeout: CONNECT_MS },
      // Far less than the service keeps them: a call that meets the end of its connection is lost.
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
