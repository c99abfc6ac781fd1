// The hosts that builds may reach besides public addresses: registries and Git hosts configured by the operator, and
// the machine's proxy. The settings are read when the builder starts. Pure, except that it reads npm's own settings.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Outbound } from '#core/outbound/connect.ts';
import { targetOf } from '#core/outbound/target.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A host and a port. */
export interface Place {
  readonly host: string;
  readonly port: number;
}

/** The outgoing connections that builds may open. */
export interface OutboundRules extends Outbound {
  /** Registries on the machine's loopback, which are forwarded to the build's loopback. */
  readonly loopback: readonly Place[];
}

/** The default registries, regardless of the address that the machine resolves. */
const PACKAGE_DOMAINS = ['npmjs.org', 'yarnpkg.com'];
const OF_REGISTRIES = ['NPM_CONFIG_REGISTRY', 'npm_config_registry', 'COREPACK_NPM_REGISTRY'];
const OF_GIT_HOSTS = ['GITHOST_URL', 'GITHOST_API_URL'];

/**
 * Reads the environment of the builder. `privateHosts` are the Git hosts of `GIT_REMOTE_PRIVATE_HOSTS`.
 *
 * @param npm lines of the machine's npm settings. @throws {Error} that names the variable, its value and the accepted
 * values.
 * @example
 * const way = outboundRules({ policy, lookup, privateHosts: [] }, { npm_config_registry: 'http://10.0.0.7:4873/' });
 * way.isKnown('10.0.0.7', 4873); // true
 */
export function outboundRules(
  { policy, lookup, privateHosts }: Pick<Outbound, 'policy' | 'lookup'> & { readonly privateHosts: readonly string[] },
  environment: Environment,
  npm: string = npmSettings(),
): OutboundRules {
  const urls = [...[...OF_REGISTRIES, ...OF_GIT_HOSTS].map((name) => environment[name] ?? ''), ...registriesIn(npm)];
  const places = urls.flatMap(placeOf);
  const known = new Set([
    ...places.map(({ host, port }) => targetOf(host, port)),
    ...reachableHosts(environment['BUILD_REACHABLE_HOSTS'] ?? ''),
    ...privateHosts,
  ]);
  const proxyOf = proxiesOf(environment, npm);
  return {
    policy,
    lookup,
    who: 'builds',
    isKnown: (name, port) => isOfPackages(name, port) || known.has(name) || known.has(targetOf(name, port)),
    proxyOf: (name, port) => (isLoopback(name) ? null : proxyOf(name, port)),
    loopback: places.filter(({ host }) => isLoopback(host)),
  };
}

function isOfPackages(name: string, port: number): boolean {
  return port === 443 && PACKAGE_DOMAINS.some((domain) => name.endsWith(`.${domain}`));
}

/** npm settings files of all users, which builds read too. */
function npmSettings(): string {
  const prefixes = new Set(['/usr', '/usr/local', dirname(dirname(process.execPath))]);
  const files = [...[...prefixes].map((prefix) => join(prefix, 'etc/npmrc')), '/usr/share/nodejs/npm/npmrc'];
  return files.map(textOf).join('\n');
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function registriesIn(npm: string): string[] {
  return Array.from(npm.matchAll(/^\s*(?:@[^\s:=]+:)?registry\s*=\s*"?([^"\s]+)/gm), ([, url]) => url!);
}

function placeOf(text: string): Place[] {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return [];
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return [{ host, port: Number(url.port) || (url.protocol === 'https:' ? 443 : 80) }];
}

/** Parses hosts, which allow all ports, and hosts with a port. */
function reachableHosts(text: string): string[] {
  const words = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((word) => word !== '');
  const wrong = words.find((word) => !/^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/.test(word));
  if (wrong !== undefined)
    throw new Error(
      `BUILD_REACHABLE_HOSTS has "${wrong}": use hosts such as npm.example or 10.0.0.7:4873, comma-separated`,
    );
  return words.map((word) => word.replace(/^\[(.*)\]$/, '$1'));
}

function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '::1' || /^127(?:\.\d+){3}$/.test(name);
}

/** As with curl, lower-case variables take precedence, and entries of `NO_PROXY` match subdomains too. */
function proxiesOf(environment: Environment, npm: string): (name: string, port: number) => URL | null {
  const ofMachine = (name: string): string => (environment[name.toLowerCase()] || environment[name] || '').trim();
  const of = (name: string, key: string): URL | null => {
    const [, set = ''] = new RegExp(`^\\s*${key}\\s*=\\s*"?([^"\\s]+)`, 'm').exec(npm) ?? [];
    return proxyOf(name, ofMachine(name)) ?? proxyOf(key, set.includes('$') || set === 'null' ? '' : set);
  };
  const all = ofMachine('ALL_PROXY').startsWith('socks') ? null : proxyOf('ALL_PROXY', ofMachine('ALL_PROXY'));
  const secure = of('HTTPS_PROXY', 'https-proxy') ?? all;
  const plain = of('HTTP_PROXY', 'proxy') ?? all;
  const not = ofMachine('NO_PROXY')
    .toLowerCase()
    .split(/[\s,]+/)
    .map((word) => word.replace(/^\*?\./, ''));
  const isNot = (name: string, port: number): boolean =>
    not.some(
      (word) =>
        word === '*' ||
        (word !== '' && [name, `${name}:${port}`].some((each) => each === word || each.endsWith(`.${word}`))),
    );
  return (name, port) => (isNot(name, port) ? null : port === 80 ? plain : (secure ?? plain));
}

function proxyOf(name: string, text: string): URL | null {
  if (text === '') return null;
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Error(`${name} must be a proxy such as http://proxy.example:3128: builds go out through it`);
  if (!isPercentEncoded(url.username) || !isPercentEncoded(url.password))
    throw new Error(`${name} has a user name or password that is not percent-encoded: write % as %25`);
  return url;
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
