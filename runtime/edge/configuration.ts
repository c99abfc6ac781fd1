// The edge's settings, read and validated once (docs/domains.md). Each problem is named in the error.
import { existsSync, readFileSync } from 'node:fs';
import { limitsFrom, type EdgeLimits } from '#core/limits.ts';
import { parsePort } from '#core/parse-integer.ts';
import type { AcmeSettings } from './caddy-config.ts';
import { parseCertificate } from './stored-certificates.ts';

/** Settings of the edge. */
export interface EdgeConfiguration {
  /** `FS_PATH`. */
  readonly folder: string;
  readonly program: string;
  readonly domains: readonly string[];
  readonly host: string;
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly publicPort: number;
  readonly handlers: readonly string[];
  /** Whether `EDGE_HANDLERS` is set, so that announced machines are ignored. */
  readonly hasFixedHandlers: boolean;
  readonly sites: readonly { readonly host: string; readonly upstream: string }[];
  readonly acme: AcmeSettings;
  /** `EDGE_CERTIFICATE_FILE`, `EDGE_KEY_FILE`: the operator's own certificate, such as a wildcard. */
  readonly files: readonly { readonly certificate: string; readonly key: string }[];
  readonly renewalRatio: number;
  readonly trustedProxies: readonly string[];
  readonly token: string;
  readonly limits: EdgeLimits;
}

type Environment = Readonly<Record<string, string | undefined>>;

const USUAL_RENEWAL = 1 / 3;

/** @throws {Error} with a line for each problem. */
export function edgeConfiguration(environment: Environment): EdgeConfiguration {
  const problems: string[] = [];
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const list = (name: string): string[] =>
    get(name)
      .split(',')
      .flatMap((entry) => entry.trim() || []);
  const port = (name: string, otherwise: number): number => {
    if (get(name) === '') return otherwise;
    try {
      return parsePort(name, get(name), 1);
    } catch (error) {
      problems.push((error as Error).message);
      return otherwise;
    }
  };
  const upstreams = (name: string, otherwise: string): string[] => {
    const given = get(name) === '' ? [otherwise] : list(name);
    for (const one of given)
      if (!/^(?:\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5}$/.test(one))
        problems.push(`${name} has "${one}": it must be a comma-separated list of host:port`);
    return given;
  };
  const httpsPort = port('EDGE_HTTPS_PORT', 443);
  const site = (address: string, upstream: string, portName: string, usual: number) => {
    const url = URL.parse(get(address));
    const isHttps = url?.protocol === 'https:' && url.hostname !== 'localhost';
    const at = get(portName).toLowerCase() === 'off' ? null : `127.0.0.1:${port(portName, usual)}`;
    if (!isHttps || (at === null && get(upstream) === '')) return [];
    return [{ host: url.hostname, upstream: upstreams(upstream, at ?? '')[0]! }];
  };
  const [certificate, key] = [get('EDGE_CERTIFICATE_FILE'), get('EDGE_KEY_FILE')];
  if ((certificate === '') !== (key === ''))
    problems.push('EDGE_CERTIFICATE_FILE and EDGE_KEY_FILE belong together: set both, or neither');
  else if (certificate !== '') {
    try {
      parseCertificate(readFileSync(certificate));
    } catch (error) {
      problems.push(`EDGE_CERTIFICATE_FILE: ${(error as Error).message}`);
    }
    if (!existsSync(key)) problems.push(`EDGE_KEY_FILE: there is no file ${key}`);
  }
  const url = get('ACME_URL');
  if (url !== '' && URL.parse(url)?.protocol !== 'https:')
    problems.push(`ACME_URL is "${url}": it must be the https address of an ACME directory`);
  const email = get('ACME_EMAIL');
  if (email !== '' && !/^[^\s@]+@[^\s@]+$/.test(email))
    problems.push(`ACME_EMAIL is "${email}", which is not an email address`);
  const rootFile = get('ACME_CA_FILE');
  if (rootFile !== '' && !existsSync(rootFile)) problems.push(`ACME_CA_FILE: there is no file ${rootFile}`);
  const ratio = get('EDGE_RENEWAL_RATIO') === '' ? USUAL_RENEWAL : Number(get('EDGE_RENEWAL_RATIO'));
  if (!(ratio > 0 && ratio < 1)) problems.push('EDGE_RENEWAL_RATIO must be between 0 and 1, such as 0.33');
  const folder = get('FS_PATH');
  if (folder === '') problems.push('FS_PATH is not set: name the data folder');
  const domains = get('HANDLER_DOMAIN') === '' ? ['localhost'] : list('HANDLER_DOMAIN');
  const configuration: EdgeConfiguration = {
    folder,
    program: get('CADDY_BIN') || 'caddy',
    domains: domains.map((domain) => domain.toLowerCase()),
    host: get('EDGE_HOST'),
    httpPort: port('EDGE_HTTP_PORT', 80),
    httpsPort,
    publicPort: port('PUBLIC_PORT', httpsPort),
    handlers: upstreams('EDGE_HANDLERS', `127.0.0.1:${port('HANDLER_PORT', 4001)}`),
    hasFixedHandlers: get('EDGE_HANDLERS') !== '' || get('EDGE_MACHINES') === '',
    sites: [
      ...site('PUBLIC_API_URL', 'EDGE_API', 'API_PORT', 4002),
      ...site('AUTH_URL', 'EDGE_UI', 'UI_PORT', 3002),
      ...site('DOCS_URL', 'EDGE_DOCS', 'DOCS_PORT', 3005),
    ],
    acme: { url: url || null, email: email || null, rootFile: rootFile || null },
    files: certificate === '' ? [] : [{ certificate, key }],
    renewalRatio: ratio,
    trustedProxies: list('TRUSTED_PROXIES'),
    token: get('EDGE_TOKEN'),
    limits: limitsFrom(environment).edge,
  };
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return configuration;
}
