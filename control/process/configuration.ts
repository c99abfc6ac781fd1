// The API process's environment, read and validated once (docs/sign-in.md). One error reports all problems, with the
// command that generates a secret. The error contains no values.
import { createPrivateKey } from 'node:crypto';
import { isIP } from 'node:net';
import { operatorAiFrom, type OperatorAi } from '#core/ai-readiness.ts';
import { isHttpsOn } from '#core/public-https.ts';
import { encryptionKeys, type EncryptionKeys } from '#core/encryption.ts';
import { encryptionKeyProblem, secretProblem } from '#core/process/generated-secrets.ts';
import { mailSettingsFrom, type MailSettings } from '#core/mail-target.ts';
import { migrationsExecutorFrom, type MigrationsExecutor } from '#core/migrations-executor.ts';
import { parseInteger, parsePort } from '#core/parse-integer.ts';
import { parseHandlerUrls } from '#core/process/handler-addresses.ts';
import { sandboxServiceFrom } from '#core/sandbox/service-address.ts';
import type { SandboxServiceAddress } from '#core/sandbox/service-client.ts';
import { gitConfigurationFrom, type GitConfiguration } from '#git/configuration.ts';
import { githubApiUrl, PUBLIC_GITHUB } from '#git/host/application.ts';
import { readDatabaseUrl } from '#core/database-url.ts';
import type { OidcSettings } from '../access/oidc/provider.ts';
import { oidcSettingsFrom } from './oidc-settings.ts';
import { groupProblem, listOf } from './variable-groups.ts';

/** Public addresses, without trailing slashes. */
export interface Addresses {
  /** `PUBLIC_API_URL`. */
  readonly api: string;
  /** `AUTH_URL`: the dashboard. */
  readonly ui: string;
  /** The first of the platform's domains, such as `localhost`. */
  readonly domain: string;
  /** Protocol of deployment URLs. */
  readonly protocol: 'http' | 'https';
  /** Port in deployment URLs; null means the protocol's default. */
  readonly port: number | null;
  /** All of the platform's domains, including the first. */
  readonly domains?: readonly string[];
  /**
   * `PUBLIC_ADDRESSES`: public IP addresses of the platform. By default, the addresses to which its domain resolves.
   */
  readonly publicAddresses?: readonly string[];
  /** `PUBLIC_HTTPS`: the platform issues certificates itself. */
  readonly issuesCertificates?: boolean;
}

/** Settings of the API process. */
export interface Configuration extends OperatorSettings {
  /** `DATABASE_URL`. */
  readonly databaseUrl: string;
  /** `CACHE_URL`: where sessions are stored; null means in Postgres. */
  readonly cacheUrl: string | null;
  /** `FS_PATH`: data folder. */
  readonly folder: string;
  /** `AUTH_SECRET`: signs cookies and forms. */
  readonly authSecret: string;
  readonly keys: EncryptionKeys;
  readonly addresses: Addresses;
  /** `API_HANDLER_URL` and `PRIVATE_PORT_TOKEN`: private ports of all handlers' supervisors. */
  readonly privatePort: {
    readonly origins: readonly string[];
    readonly token: string | null;
    /**
     * The private ports of other machines are found in Postgres. `ownOrigin`: the address that this machine has
     * announced. Null: `origins` are all.
     */
    readonly machines: { readonly ownOrigin: string | null } | null;
  };
  /** `API_HOST`, `API_PORT`; port 0 picks a free one. */
  readonly listeners: { readonly host: string; readonly apiPort: number };
  /** `API_WEB_LISTEN`, `WEB_TOKEN`: the listener for the web process (web/), or null. */
  readonly web: { readonly address: WebAddress; readonly token: string } | null;
  /** `API_AI_SOCKET`: socket of the AI gateway, or null. */
  readonly aiSocket: string | null;
  /** `API_AI_OPERATOR`: the operator's settings of the gateway, or null. */
  readonly operatorAi: OperatorAi | null;
  readonly git: GitConfiguration;
  readonly gitHost: GitHostSettings;
  /** `OIDC_*`; null means no OpenID Connect provider. */
  readonly oidc: OidcSettings | null;
  /** `TRUSTED_PROXIES`: proxies whose forwarded client address is trusted. */
  readonly trustedProxies: readonly string[];
  /** `EDGE_TOKEN`: identifies requests from the edge; '' means there is no edge. */
  readonly edgeToken: string;
  /** `API_DNS_SERVERS`: name servers for custom domains; '' means the name servers of the system. */
  readonly dnsServers: string;
  /** `DB_MIGRATIONS_EXECUTOR`: the process that applies migrations. */
  readonly migrationsExecutor: MigrationsExecutor;
  /** `SANDBOX_URL`, `SANDBOX_AUTH_TOKEN`: the sandbox service, or null. */
  readonly sandboxes: SandboxServiceAddress | null;
  /** `WORKER_CONCURRENCY`; null: not set. */
  readonly workerConcurrency: number | null;
  /** Warnings about valid but questionable settings, to be logged. */
  readonly warnings: readonly string[];
}

/** Settings that operators may change while the platform runs (live-settings.ts). */
export interface OperatorSettings {
  /** `AUTH_MAIL_URL`, `MAIL_FROM`. */
  readonly mail: MailSettings;
  /** `SIGN_IN`: the ways to sign in. */
  readonly signInWays: readonly SignInWay[];
  /** `SIGN_UP`: who may create an account. */
  readonly signUp: SignUp;
}

/** Ways to sign in besides tokens. */
const SIGN_IN_WAYS = ['password', 'passkey', 'git-host', 'oidc'] as const;
export type SignInWay = (typeof SIGN_IN_WAYS)[number];

/**
 * `invited`: only people with an invitation or an account; `open`: everyone with an account at the Git host or
 * provider.
 */
export type SignUp = 'invited' | 'open';

/** A private listener: a Unix socket, or a port. */
type WebAddress = { readonly socket: string } | { readonly host: string; readonly port: number };

/** The Git host as sign-in provider. git/configuration.ts has its other settings. */
export interface GitHostSettings {
  /** `GITHOST_URL`: its website. */
  readonly url: string;
  /** `GITHOST_API_URL`: its REST API. */
  readonly apiUrl: string;
  /** `GITHOST_CLIENT_ID`, `GITHOST_CLIENT_SECRET`; null means no sign-in there. */
  readonly oauth: { readonly clientId: string; readonly clientSecret: string } | null;
  /**
   * Name of the host in stored identities, because the same ids may exist on another host. Undefined for the host of
   * `GITHOST_URL`, whose identities have no name.
   */
  readonly realm?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws {Error} with one line per problem. */
export function readConfiguration(environment: Environment): Configuration {
  const problems: string[] = [];
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const checked = <Value>(read: () => Value, otherwise: Value): Value => {
    try {
      return read();
    } catch (error) {
      problems.push((error as Error).message);
      return otherwise;
    }
  };
  const originOf = (name: string, otherwise: string): string =>
    get(name) === '' ? otherwise : checked(() => parseOrigin(name, get(name)), otherwise);
  const port = (name: string, otherwise: number): number =>
    get(name) === '' ? otherwise : checked(() => parsePort(name, get(name)), otherwise);
  const choice = <Word extends string>(name: string, words: readonly [Word, ...Word[]]): Word => {
    const [first] = words;
    const found = get(name) === '' ? first : words.find((word) => word === get(name));
    if (found === undefined) problems.push(`${name} must be ${words.join(' or ')}`);
    return found ?? first;
  };
  const demand = (problem: string | null): void => {
    if (problem !== null) problems.push(problem);
  };

  demand(get('DATABASE_URL') === '' ? 'DATABASE_URL is not set: name a Postgres database' : null);
  if (get('DATABASE_URL') !== '') checked(() => readDatabaseUrl(get('DATABASE_URL'), 'DATABASE_URL'), null);
  demand(urlProblem('CACHE_URL', get('CACHE_URL'), ['redis:', 'rediss:']));
  demand(get('FS_PATH') === '' ? 'FS_PATH is not set: name the data folder' : null);
  demand(secretProblem('AUTH_SECRET', get('AUTH_SECRET')));
  const sealing = encryptionKeyProblem(get('ENCRYPTION_KEY'));
  demand(sealing);
  const production = environment['NODE_ENV'] === 'production';
  const issuesCertificates = checked(() => isHttpsOn(get('PUBLIC_HTTPS')), false);
  const isSecure = production || issuesCertificates;
  const protocol = choice('PUBLIC_PROTOCOL', isSecure ? ['https', 'http'] : ['http', 'https']);
  const handlerPort = port('HANDLER_PORT', 4001);
  const publicPort = get('PUBLIC_PORT') === '' ? (protocol === 'https' ? 443 : handlerPort) : port('PUBLIC_PORT', 443);
  const apiPort = port('API_PORT', 4002);
  const uiPort = get('UI_PORT') === 'off' ? 3002 : port('UI_PORT', 3002);
  const addresses: Addresses = {
    api: originOf('PUBLIC_API_URL', `http://localhost:${apiPort || 4002}`),
    ui: originOf('AUTH_URL', `http://localhost:${uiPort || 3002}`),
    domain: get('HANDLER_DOMAIN').split(',')[0]!.trim().toLowerCase() || 'localhost',
    protocol,
    port: publicPort === (protocol === 'https' ? 443 : 80) ? null : publicPort,
    domains: listOf(get('HANDLER_DOMAIN').toLowerCase() || 'localhost'),
    publicAddresses: listOf(get('PUBLIC_ADDRESSES')).filter((address) => {
      if (isIP(address) === 0) problems.push(`PUBLIC_ADDRESSES has "${address}", which is not an IP address`);
      return isIP(address) !== 0;
    }),
    issuesCertificates,
  };
  const oidc = checked(() => oidcSettingsFrom(environment), null);
  const ownOrigin = get('MACHINE_ORIGIN');
  const operator = checked(() => operatorSettingsFrom(get), usualSettings);
  const configuration: Configuration = {
    ...operator,
    databaseUrl: get('DATABASE_URL'),
    cacheUrl: get('CACHE_URL') || null,
    folder: get('FS_PATH'),
    authSecret: get('AUTH_SECRET'),
    keys: sealing === null ? encryptionKeys(get('ENCRYPTION_KEY')) : (undefined as never),
    addresses,
    privatePort: {
      origins: checked(
        () => parseHandlerUrls(get('API_HANDLER_URL') || (ownOrigin === '' ? 'http://127.0.0.1:8081' : '')),
        [],
      ),
      machines: ownOrigin === '' ? null : { ownOrigin: ownOrigin === 'none' ? null : ownOrigin },
      token: get('PRIVATE_PORT_TOKEN') || null,
    },
    listeners: {
      host: get('API_HOST') || '127.0.0.1',
      apiPort,
    },
    web: webListener(get, demand),
    aiSocket: get('API_AI_SOCKET') || null,
    operatorAi: operatorAiFrom(get('API_AI_OPERATOR')),
    git: checked(() => gitConfigurationFrom(environment), { gitHost: null, webhookSecret: null, privateHosts: [] }),
    gitHost: checked(() => gitHostSettings(environment), { url: '', apiUrl: '', oauth: null }),
    oidc,
    trustedProxies: listOf(get('TRUSTED_PROXIES')),
    dnsServers: get('API_DNS_SERVERS'),
    edgeToken: get('EDGE_TOKEN'),
    migrationsExecutor: checked(() => migrationsExecutorFrom(environment), 'engine'),
    sandboxes: checked(() => sandboxServiceFrom(environment), null),
    workerConcurrency:
      get('WORKER_CONCURRENCY') === ''
        ? null
        : checked(() => parseInteger('WORKER_CONCURRENCY', get('WORKER_CONCURRENCY'), { least: 1 }), null),
    warnings: [
      ...warningsOf(addresses),
      ...(oidc !== null && !operator.signInWays.includes('oidc')
        ? ['OIDC_ISSUER is set, but SIGN_IN does not include oidc: sign-in with OpenID Connect is off']
        : []),
    ],
  };
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return configuration;
}

/** @param get value of a variable; '' if it is not set. @throws {Error} with one line per problem. */
export function operatorSettingsFrom(get: (name: string) => string): OperatorSettings {
  const problems: string[] = [];
  const checked = <Name extends keyof OperatorSettings>(name: Name, read: () => OperatorSettings[Name]) => {
    try {
      return read();
    } catch (error) {
      problems.push((error as Error).message);
      return usualSettings[name];
    }
  };
  const settings: OperatorSettings = {
    mail: checked('mail', () => mailSettingsFrom(get)),
    signInWays: checked('signInWays', () => signInWays(get('SIGN_IN'))),
    signUp: checked('signUp', () => signUpFrom(get('SIGN_UP'))),
  };
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return settings;
}

const usualSettings: OperatorSettings = {
  mail: { target: null, from: null },
  signInWays: SIGN_IN_WAYS,
  signUp: 'invited',
};

/** @throws {Error} */
function signUpFrom(text: string): SignUp {
  if (text === '' || text === 'invited') return 'invited';
  if (text === 'open') return text;
  throw new Error('SIGN_UP must be invited or open');
}

/** Ways to sign in, of a list with commas; all by default. @throws {Error} for an unknown value. */
function signInWays(text: string): readonly SignInWay[] {
  const asked = listOf(text);
  if (asked.some((word) => !SIGN_IN_WAYS.some((way) => way === word)))
    throw new Error(`SIGN_IN must be a list of ${SIGN_IN_WAYS.join(', ')}`);
  return asked.length === 0 ? SIGN_IN_WAYS : SIGN_IN_WAYS.filter((way) => asked.includes(way));
}

/** The listener for the web process, and its token. */
function webListener(get: (name: string) => string, demand: (problem: string | null) => void): Configuration['web'] {
  const text = get('API_WEB_LISTEN');
  if (text === '') return null;
  const [, host, port] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  const isPort = port !== undefined && Number(port) <= 65_535;
  demand(
    text.startsWith('/') || isPort
      ? null
      : 'API_WEB_LISTEN must be the path of a Unix socket, a port, or an address with a port, such as 0.0.0.0:4003',
  );
  demand(secretProblem('WEB_TOKEN', get('WEB_TOKEN')));
  const address = text.startsWith('/') ? { socket: text } : { host: host ?? '127.0.0.1', port: Number(port) };
  return { address, token: get('WEB_TOKEN') };
}

/**
 * Sign-in settings of the Git host. A partially set group of variables is an error. The variables of the application
 * are such a group, too.
 *
 * @throws {Error} with one line per problem.
 */
function gitHostSettings(environment: Environment): GitHostSettings {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const problems = [
    groupProblem(environment, ['GITHOST_CLIENT_ID', 'GITHOST_CLIENT_SECRET']),
    groupProblem(environment, ['GITHOST_APP_ID', 'GITHOST_APP_PRIVATE_KEY', 'GITHOST_WEBHOOK_SECRET']),
    get('GITHOST_WEBHOOK_SECRET') === ''
      ? null
      : secretProblem('GITHOST_WEBHOOK_SECRET', get('GITHOST_WEBHOOK_SECRET')),
    keyProblem(get('GITHOST_APP_PRIVATE_KEY')),
  ].filter((problem) => problem !== null);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const url = get('GITHOST_URL') === '' ? PUBLIC_GITHUB : parseAddress('GITHOST_URL', get('GITHOST_URL'));
  const clientId = get('GITHOST_CLIENT_ID');
  return {
    url,
    apiUrl: get('GITHOST_API_URL') === '' ? githubApiUrl(url) : parseAddress('GITHOST_API_URL', get('GITHOST_API_URL')),
    oauth: clientId === '' ? null : { clientId, clientSecret: get('GITHOST_CLIENT_SECRET') },
  };
}

/** Line breaks may be escaped as `\n`. */
function keyProblem(text: string): string | null {
  if (text === '') return null;
  try {
    createPrivateKey(text.replaceAll('\\n', '\n'));
    return null;
  } catch {
    return 'GITHOST_APP_PRIVATE_KEY is not a private key: set it to the PEM file of the application, with line breaks or \\n';
  }
}

/** An origin such as `https://app.example.com`. @throws {Error} */
function parseOrigin(name: string, text: string): string {
  const url = parseAddress(name, text);
  if (url === new URL(url).origin) return url;
  throw new Error(`${name} must be an address without a path, such as https://app.example.com`);
}

/** An http or https URL without a trailing slash. @throws {Error} */
function parseAddress(name: string, text: string): string {
  const url = URL.parse(text);
  const isPlain =
    url !== null && /^https?:$/.test(url.protocol) && `${url.username}${url.password}${url.search}${url.hash}` === '';
  if (isPlain) return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  throw new Error(`${name} must be an address of http or https, such as https://app.example.com`);
}

/** The value may contain a password, so it is left out of the message. */
function urlProblem(name: string, text: string, protocols: readonly string[]): string | null {
  if (text === '' || protocols.includes(URL.parse(text)?.protocol ?? '')) return null;
  return `${name} must begin with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`;
}

function warningsOf({ ui, api }: Addresses): string[] {
  const isOpen = (address: string): boolean => {
    const { protocol, hostname } = new URL(address);
    return protocol === 'http:' && !/^(?:localhost|.*\.localhost|127\..*|\[::1\])$/.test(hostname);
  };
  return [
    ...(isOpen(ui) ? ['AUTH_URL is plain HTTP: sessions can be read on the way; put TLS before it and say https'] : []),
    ...(isOpen(api)
      ? ['PUBLIC_API_URL is plain HTTP: tokens can be read on the way; put TLS before it and say https']
      : []),
  ];
}
