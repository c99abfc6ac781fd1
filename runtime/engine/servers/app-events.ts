// Delivers events to the server of an ssr deployment. The worker that forwards events (core/rpc/events.mjs) fetches a
// URL that leads only to that server, with a token of the deployment. Made by main.ts.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Exchange } from '../http/listener.ts';
import type { Route } from '../router/project-routes.ts';

/** This host is reserved: no other host has a name below it. */
const APP_DOMAIN = '.app.platform.internal';
const EVENTS = '/__platform/';

/** Transport of events. */
interface AppEvents {
  /** Variables for the worker and the server of an ssr deployment. */
  variablesOf(route: Pick<Route, 'project' | 'deployment'>): Readonly<Record<string, string>>;
  /** Whether a URL belongs to a server. */
  has(target: URL): boolean;
  /** Serves a worker's fetch. Only the worker with the deployment's token has access, and only to its own route. */
  serve(exchange: Exchange): void;
}

interface AppEventsDeps {
  /** The secret, which is the same for all engines. */
  readonly secret: Uint8Array;
  /** @param key `<project>/<deployment>` */
  readonly serveHere: (key: string, exchange: Exchange) => void;
  readonly refuse: (exchange: Exchange) => void;
}

export function createAppEvents({ secret, serveHere, refuse }: AppEventsDeps): AppEvents {
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
