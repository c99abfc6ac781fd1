// The complete configuration of Caddy: listeners, certificates, upstreams of hosts. Created by edge.ts, passed to
// Caddy by caddy.ts. Pure. The configuration contains EDGE_TOKEN, so it is not written to a file.
import { errorPage, pageHeaders } from '#core/error-page.ts';
import { ADMIN_HOST, EDGE_HEADER } from '#core/process/edge-proxy.ts';
import { REFRESH_MS } from './handlers.ts';
import { HANDLERS_NAME } from './upstream-names.ts';

/** Settings. */
interface CaddySettings {
  /** Unix socket of the admin API, in a folder of the platform's user, instead of an accessible port. */
  readonly adminSocket: string;
  /** Folder of certificates, keys and the ACME account. */
  readonly storage: string;
  /** Listen address; '': all. */
  readonly host: string;
  readonly httpPort: number;
  readonly httpsPort: number;
  /** The port in URLs, if another port is mapped onto `httpsPort`. */
  readonly publicPort: number;
  /** URL that Caddy asks before each certificate. */
  readonly askUrl: string;
  readonly acme: AcmeSettings;
  /** The operator's own certificates, as PEM files. */
  readonly files: readonly { readonly certificate: string; readonly key: string }[];
  /** Share of a certificate's lifetime that remains when it is renewed. */
  readonly renewalRatio: number;
  /** `host:port` of each handler; if there is a `resolver`, this list is only used while it does not respond. */
  readonly handlers: readonly string[];
  /** Address of the name server for handlers; null if the list above is used. */
  readonly resolver: string | null;
  /** Hosts of the platform itself, each with its `host:port`. */
  readonly sites: readonly { readonly host: string; readonly upstream: string }[];
  /** Proxies in front of this one (`TRUSTED_PROXIES`), whose client addresses are trusted. */
  readonly trustedProxies: readonly string[];
  readonly token: string;
}

/** The certificate authority. */
export interface AcmeSettings {
  /** Directory URL; null means Let's Encrypt. */
  readonly url: string | null;
  readonly email: string | null;
  /** PEM file of the authority's own root; null means the system's roots. */
  readonly rootFile: string | null;
}

/**
 * How long idle connections are kept. Services close them after 5 s, and a request at that moment would be lost (502).
 */
export const UPSTREAM_IDLE = '3s';

/** Headers that only proxies may set: Caddy itself sets `x-forwarded-for`, `-proto` and `-host`. */
const CLAIMS = ['Forwarded', 'X-Real-Ip', 'X-Forwarded-Port', 'X-Forwarded-Server', 'X-Forwarded-Ssl', 'X-Request-Id'];

/** The JSON configuration for Caddy. */
export function caddyConfig(settings: CaddySettings): object {
  const { host, httpPort, httpsPort, publicPort, acme, sites } = settings;
  const suffix = publicPort === 443 ? '' : `:${publicPort}`;
  const server = {
    automatic_https: { disable: true },
    read_header_timeout: '10s',
    idle_timeout: '60s',
    max_header_bytes: 65_536,
    // The key has the location of Debian's Caddy 2.6, which later versions also accept.
    metrics: {},
  };
  return {
    admin: { listen: `unix/${settings.adminSocket}`, origins: [ADMIN_HOST], config: { persist: false } },
    logging: {
      logs: { default: { writer: { output: 'stderr' }, encoder: { format: 'json' }, level: 'INFO' } },
    },
    storage: { module: 'file_system', root: settings.storage },
    apps: {
      http: {
        http_port: httpPort,
        https_port: httpsPort,
        grace_period: '10s',
        servers: {
          https: {
            ...server,
            listen: [`${bracketed(host)}:${httpsPort}`],
            protocols: ['h1', 'h2', 'h3'],
            tls_connection_policies: [{}],
            routes: [
              ...sites.map(({ host: name, upstream }) => ({
                match: [{ host: [name] }],
                handle: [proxyTo([upstream], { ...settings, resolver: null })],
                terminal: true,
              })),
              { handle: [proxyTo(settings.handlers, settings)] },
            ],
            // Clients other than browsers only get the status.
            errors: {
              routes: [502, 503, 504].map((status) => ({
                match: [{ expression: `{http.error.status_code} == ${status}`, header: { Accept: ['*text/html*'] } }],
                handle: [pageOf(status)],
              })),
            },
          },
          http: {
            ...server,
            listen: [`${bracketed(host)}:${httpPort}`],
            protocols: ['h1'],
            routes: [
              {
                handle: [
                  {
                    handler: 'static_response',
                    status_code: 308,
                    headers: { Location: [`https://{http.request.host}${suffix}{http.request.uri}`] },
                  },
                ],
              },
            ],
          },
        },
      },
      tls: {
        ...(settings.files.length > 0 && { certificates: { load_files: settings.files } }),
        automation: {
          on_demand: { ask: settings.askUrl },
          policies: [
            {
              on_demand: true,
              renewal_window_ratio: settings.renewalRatio,
              issuers: [
                {
                  module: 'acme',
                  ...(acme.url !== null && { ca: acme.url }),
                  ...(acme.email !== null && { email: acme.email }),
                  ...(acme.rootFile !== null && { trusted_roots_pem_files: [acme.rootFile] }),
                  challenges: { http: { alternate_port: httpPort }, 'tls-alpn': { alternate_port: httpsPort } },
                },
              ],
            },
          ],
        },
      },
    },
  };
}

/** The page that browsers get when no handler answers. */
function pageOf(status: number): object {
  return {
    handler: 'static_response',
    status_code: status,
    headers: {
      // Caddy does not replace its own Content-Type by a name in lower case.
      ...Object.fromEntries(
        pageHeaders().map(([name, value]) => [name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase()), [value]]),
      ),
      'Cache-Control': ['no-store'],
      'Retry-After': ['5'],
    },
    // Caddy only replaces known placeholders, so the braces of the style are not changed.
    body: errorPage(status, ''),
  };
}

function proxyTo(upstreams: readonly string[], { token, trustedProxies, resolver }: CaddySettings): object {
  const names = resolver === null ? null : { addresses: [`udp/${resolver}`] };
  const isSeveral = upstreams.length > 1 || names !== null;
  return {
    handler: 'reverse_proxy',
    upstreams: upstreams.map((dial) => ({ dial })),
    ...(names !== null && {
      dynamic_upstreams: { source: 'srv', name: HANDLERS_NAME, refresh: `${REFRESH_MS}ms`, resolver: names },
    }),
    transport: {
      protocol: 'http',
      // With several handlers, an unreachable machine must not delay the attempt at another one.
      dial_timeout: names === null ? '5s' : '2s',
      ...(names !== null && { resolver: names }),
      compression: false,
      versions: ['1.1'],
      keep_alive: { enabled: true, idle_timeout: UPSTREAM_IDLE, max_idle_conns_per_host: 512 },
    },
    // There is no buffering, so that streams, events and WebSockets pass through immediately.
    flush_interval: -1,
    headers: { request: { set: { [EDGE_HEADER]: [token] }, delete: CLAIMS } },
    ...(trustedProxies.length > 0 && { trusted_proxies: trustedProxies }),
    // A failed connection attempt has sent no data, so the request waits for a handler that is starting. There are no
    // passive health checks, because one reset would disable a handler, and all its hosts would get 503.
    load_balancing: {
      ...(isSeveral && { selection_policy: { policy: 'header', field: 'Host' } }),
      try_duration: '5s',
      try_interval: '100ms',
    },
    // handlers.ts checks host names.
    ...(upstreams.length > 1 && names === null && { health_checks: { active: ACTIVE_CHECK } }),
  };
}

/**
 * The health check for several handlers. Any response means that the handler is running. Hosts of an unresponsive
 * handler move to other handlers within a second.
 */
const ACTIVE_CHECK = { uri: '/', interval: '1s', timeout: '2s', expect_status: 4 };

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
