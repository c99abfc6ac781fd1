// The configuration of Caddy, all of it: listeners, certificates, where each host leads. Made by edge.ts, given to
// Caddy by caddy.ts. Pure. It holds EDGE_TOKEN: it is not written to any file.
import { ADMIN_HOST, EDGE_HEADER } from '#core/process/edge-hop.ts';

/** What it is made of. */
export interface CaddySettings {
  /** Unix socket of the admin API, in a folder of the platform's user: no port that anybody could reach. */
  readonly adminSocket: string;
  /** Folder of certificates, keys and the ACME account. */
  readonly storage: string;
  /** Address to listen on; '': all. */
  readonly host: string;
  readonly httpPort: number;
  readonly httpsPort: number;
  /** Port in URLs, where another one is mapped onto `httpsPort`. */
  readonly publicPort: number;
  /** Asked before each certificate. */
  readonly askUrl: string;
  readonly acme: AcmeSettings;
  /** Certificates of the operator's own, as PEM files. */
  readonly files: readonly { readonly certificate: string; readonly key: string }[];
  /** Part of a certificate's life that is left when it is renewed. */
  readonly renewalRatio: number;
  /** `host:port` of handlers. */
  readonly handlers: readonly string[];
  /** Hosts of the platform itself, each with its `host:port`. */
  readonly sites: readonly { readonly host: string; readonly upstream: string }[];
  /** Proxies before this one (`TRUSTED_PROXIES`), whose word on the client's address is taken. */
  readonly trustedProxies: readonly string[];
  readonly token: string;
}

/** The authority. */
export interface AcmeSettings {
  /** Directory; null: Let's Encrypt. */
  readonly url: string | null;
  readonly email: string | null;
  /** PEM file of the authority's own root; null: those of the system. */
  readonly rootFile: string | null;
}

/** Services close an idle connection after 5 s: one that is used in that moment would lose its request (502). */
export const UPSTREAM_IDLE = '3s';

/**
 * Headers in which clients could claim what only proxies know: Caddy sets `x-forwarded-for`, `-proto` and `-host`
 * itself.
 */
const CLAIMS = ['Forwarded', 'X-Real-Ip', 'X-Forwarded-Port', 'X-Forwarded-Server', 'X-Forwarded-Ssl', 'X-Request-Id'];

/** The JSON that Caddy loads. */
export function caddyConfig(settings: CaddySettings): object {
  const { host, httpPort, httpsPort, publicPort, acme, sites } = settings;
  const suffix = publicPort === 443 ? '' : `:${publicPort}`;
  const server = {
    automatic_https: { disable: true },
    read_header_timeout: '10s',
    idle_timeout: '60s',
    max_header_bytes: 65_536,
    // Where Debian's Caddy 2.6 has it; later ones take it, too.
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
                handle: [proxyTo([upstream], settings)],
                terminal: true,
              })),
              { handle: [proxyTo(settings.handlers, settings)] },
            ],
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

function proxyTo(upstreams: readonly string[], { token, trustedProxies }: CaddySettings): object {
  return {
    handler: 'reverse_proxy',
    upstreams: upstreams.map((dial) => ({ dial })),
    transport: {
      protocol: 'http',
      dial_timeout: '5s',
      compression: false,
      versions: ['1.1'],
      keep_alive: { enabled: true, idle_timeout: UPSTREAM_IDLE, max_idle_conns_per_host: 512 },
    },
    // Nothing is held back: streams, events and WebSockets pass as they come.
    flush_interval: -1,
    headers: { request: { set: { [EDGE_HEADER]: [token] }, delete: CLAIMS } },
    ...(trustedProxies.length > 0 && { trusted_proxies: trustedProxies }),
    // A connection that cannot be made has carried nothing: the request waits for a handler that starts. No passive
    // health checks: one reset would take a handler out, with 503 for all hosts behind it.
    load_balancing: {
      ...(upstreams.length > 1 && { selection_policy: { policy: 'header', field: 'Host' } }),
      try_duration: '5s',
      try_interval: '100ms',
    },
    ...(upstreams.length > 1 && { health_checks: { active: ACTIVE_CHECK } }),
  };
}

/** Of several handlers: any answer says that one is there, and its hosts move on within a second when it is not. */
const ACTIVE_CHECK = { uri: '/', interval: '1s', timeout: '2s', expect_status: 4 };

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
