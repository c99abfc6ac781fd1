// Address and credentials of a database: converts libpq's URLs to the library's options. Used by connection.ts. Opens
// no connection.
import { parseIntoClientConfig } from 'pg-connection-string';
import type { ClientConfig } from 'pg';
import { readDatabaseUrl, type Host } from '#core/database-url.ts';

/** A database, and how to reach it. */
export interface Address extends ClientConfig {
  ssl: NonNullable<ClientConfig['ssl']>;
  /** Falls back to no TLS if the server has none (`sslmode=prefer`). */
  readonly isTlsOptional: boolean;
  /** Hosts, of which the one that accepts writes is used (`target_session_attrs`); null if `host` is always used. */
  readonly writers: readonly Host[] | null;
}

/** URL parameters that are not session settings: parameters of pg-connection-string, and of other drivers. */
const ofDriver =
  /^(?:user|password|host|port|database|application_name|client_encoding|options|ssl\w*|channel_binding|connect_timeout|idle_timeout|max\w*|backoff|keep_alive|prepare|debug|fetch_types|publications|target_session_attrs|timeout|uselibpqcompat|pgbouncer)$/;

/**
 * @param settings settings of the session; those in the URL take precedence.
 * @throws {Error} when the URL is not a Postgres URL, or names several hosts wrongly.
 */
export function toAddress(url: string, settings: Readonly<Record<string, string>>): Address {
  const { url: parsed, writers } = readDatabaseUrl(url);
  const query = parsed.searchParams;
  const ofSession = [...query].filter(([name]) => !ofDriver.test(name));
  const mode = toTlsMode(query);
  query.delete('ssl');
  query.set('sslmode', mode);
  query.set('uselibpqcompat', 'true');
  const { user, password, host, port, ssl, options } = parseIntoClientConfig(parsed.href);
  return {
    user,
    password,
    port,
    host: host || 'localhost',
    // The library would leave some characters of the name encoded.
    database: decodeURIComponent(parsed.pathname.slice(1)) || user,
    ssl: host?.startsWith('/') === true ? false : (ssl ?? false),
    isTlsOptional: mode === 'prefer',
    writers,
    options: [
      ...(options === undefined ? [] : [options]),
      ...[...ofSession, ...Object.entries(settings)].map(
        ([name, value]) => `-c ${name}=${value.replaceAll(/[\\\s]/g, '\\$&')}`,
      ),
    ].join(' '),
  };
}

/**
 * The TLS mode of a URL, as one of libpq's `sslmode` values. `ssl=require` is another driver's name for
 * `sslmode=require`, and `verify-ca` needs a root certificate.
 */
function toTlsMode(query: URLSearchParams): string {
  if (query.get('sslrootcert') === 'system') {
    query.delete('sslrootcert');
    return 'verify-full';
  }
  const mode = query.get('sslmode') ?? query.get('ssl') ?? 'disable';
  if (mode === 'disable' || mode === 'false' || mode === '0') return 'disable';
  if (mode === 'prefer' || mode === 'require') return mode;
  if (mode === 'allow' || mode === 'no-verify') return 'require';
  return mode === 'verify-ca' && query.has('sslrootcert') ? mode : 'verify-full';
}

/** A database URL with another user and password. */
export function urlAs(url: string, user: string, password: string): string {
  const { url: parsed, authority } = readDatabaseUrl(url);
  if (!authority.includes(',')) {
    parsed.username = user;
    parsed.password = password;
    return parsed.href;
  }
  const { protocol, pathname, search } = parsed;
  return `${protocol}//${encodeURIComponent(user)}:${encodeURIComponent(password)}@${authority}${pathname}${search}`;
}
