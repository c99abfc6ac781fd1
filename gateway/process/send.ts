// HTTP client for providers: keep-alive connections, only to addresses allowed by the egress policy unless the operator
// configured the provider. Redirects are not followed. The gateway enforces time and size limits itself.
import type { Agent, Dispatcher } from 'undici';
import { guardedLookup, urlProblem } from '#core/outbound/post.ts';
import type { GatewayDeps, ProviderResponse } from '../contract/contract.ts';

const CONNECT_MS = 10_000;
const KEPT_MS = 30_000;
const FORBIDDEN = 'EGRESS_FORBIDDEN';

export interface Outlet {
  readonly send: GatewayDeps['send'];
  close(): Promise<void>;
}

export function openOutlet(): Outlet {
  // Not needed if only the mock provider is used.
  const open = async (isPrivate: boolean): Promise<Agent> => {
    const { Agent: Connections } = await import('undici');
    return new Connections({
      connect: { lookup: guardedLookup(isPrivate), timeout: CONNECT_MS },
      allowH2: false,
      bodyTimeout: 0,
      headersTimeout: 0,
      keepAliveTimeout: KEPT_MS,
    });
  };
  const agents = new Map<boolean, Promise<Agent>>();
  const agentOf = (isPrivate: boolean): Promise<Agent> => {
    const agent = agents.get(isPrivate) ?? open(isPrivate);
    agents.set(isPrivate, agent);
    return agent;
  };
  return {
    async send({ url, headers, body, signal }, { isPrivate }) {
      const problem = urlProblem(url, isPrivate);
      if (problem !== null) throw Object.assign(new Error(`The URL of the provider ${problem}`), { code: FORBIDDEN });
      const { origin, pathname, search } = new URL(url);
      const agent = await agentOf(isPrivate);
      return toResponse(
        await agent.request({
          origin,
          path: `${pathname}${search}`,
          method: 'POST',
          headers,
          body,
          signal,
        }),
      );
    },
    async close() {
      for (const agent of agents.values()) await (await agent).destroy();
    },
  };
}

/** Avoids web streams and headers, which cost more than everything else the gateway does for a call. */
const toResponse = ({ statusCode, headers, body }: Dispatcher.ResponseData): ProviderResponse => ({
  status: statusCode,
  headers: {
    get(name) {
      const value = headers[name];
      return Array.isArray(value) ? value.join(', ') : (value ?? null);
    },
  },
  body,
});
