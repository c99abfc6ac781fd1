// How events come to the server of an ssr deployment: the worker that passes them on (core/rpc/events.mjs) fetches an
// address that leads to that server alone, with a token of the deployment. Made by main.ts.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Exchange } from '../http/listener.ts';
import type { Route } from '../router/project-routes.ts';

/** Nobody else answers to names below it. */
const APP_DOMAIN = '.app.platform.internal';
const EVENTS = '/__platform/';

/** The way of events. */
export interface AppEvents {
  /** What the worker of an ssr deployment sees, and its server. */
  variablesOf(route: Pick<Route, 'project' | 'deployment'>): Readonly<Record<string, string>>;
  /** Whether an address is that of a server. */
  has(target: URL): boolean;
  /** Of a worker's fetch. Only the worker that has the deployment's token gets through, and only to its route. */
  serve(exchange: Exchange): void;
}

interface AppEventsParts {
  /** The same for all engines. */
  readonly secret: Uint8Array;
  /** @param key `<project>/<deployment>` */
  readonly serveHere: (key: string, exchange: Exchange) => void;
  readonly refuse: (exchange: Exchange) => void;
}

export function createAppEvents({ secret, serveHere, refuse }: AppEventsParts): AppEvents {
  const digest = (text: string): Buffer => createHmac('sha256', secret).update(text).digest();
  const tokenOf = (key: string): string => digest(key).toString('base64url');

  return {
    variablesOf: ({ project, deployment }) => ({
      PLATFORM_APP_URL: `http://${deployment}.${project}${APP_DOMAIN}`,
      PLATFORM_APP_TOKEN: tokenOf(`${project}/${deployment}`),
    }),
    has: ({ hostname, port, protocol }) => protocol === 'http:' && port === '' && hostname.endsWith(APP_DOMAIN),
    serve(exchange) {
      const [deployment = '', project = ''] = exchange.host.slice(0, -APP_DOMAIN.length).split('.');
      const key = `${project}/${deployment}`;
      const given = digest(exchange.header('authorization') ?? '');
      if (!exchange.target.startsWith(EVENTS) || !timingSafeEqual(given, digest(`Bearer ${tokenOf(key)}`)))
        refuse(exchange);
      else serveHere(key, exchange);
    },
  };
}
