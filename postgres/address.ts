// Where a database is and who asks: what libpq's URLs say, in the words of the library. Used by connection.ts. It
// connects to nothing.
import { parseIntoClientConfig } from 'pg-connection-string';
import type { ClientConfig } from 'pg';

/** A database, and how to reach it. */
export interface Address extends ClientConfig {
  ssl: NonNullable<ClientConfig['ssl']>;
  /** Without TLS where the server has none (`sslmode=prefer`). */
  readonly isTlsOptional: boolean;
}

/**
 * Parameters of a URL that are no settings of the session: those that pg-connection-string reads, and those of other
 * drivers.
 */
const ofDriver =
  /^(?:user|password|host|port|database|application_name|client_encoding|options|ssl\w*|channel_binding|connect_timeout|idle_timeout|max\w*|backoff|keep_alive|prepare|debug|fetch_types|publications|target_session_attrs|timeout|uselibpqcompat|pgbouncer)$/;

/**
 * @param settings of the session; those that the URL has go before them.
 * @throws {Error} when the URL is none of a Postgres.
 */
export function toAddress(url: string, settings: Readonly<Record<string, string>>): Address {
  const parsed = URL.parse(url);
  if (parsed === null || !/^postgres(?:ql)?:$/.test(parsed.protocol))
    throw new Error(
      'The connection URL of the database must have the form postgres://user:password@host:port/database',
    );
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
    // The library leaves some characters of it encoded.
    database: decodeURIComponent(parsed.pathname.slice(1)) || user,
    ssl: host?.startsWith('/') === true ? false : (ssl ?? false),
    isTlsOptional: mode === 'prefer',
    options: [
      ...(options === undefined ? [] : [options]),
      ...[...ofSession, ...Object.entries(settings)].map(
        ([name, value]) => `-c ${name}=${value.replaceAll(/[\\\s]/g, '\\$&')}`,
      ),
    ].join(' '),
  };
}

/**
 * One of libpq's modes: `ssl=require` is another driver's word for `sslmode=require`, and `verify-ca` needs a
 * certificate to go by.
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

/** The same address as another user. */
export function urlAs(url: string, user: string, password: string): string {
  const parsed = new URL(url);
  parsed.username = user;
  parsed.password = password;
  return parsed.href;
}

/** The same server, another database. */
export function urlOfDatabase(url: string, database: string): string {
  const parsed = new URL(url);
  parsed.pathname = `/${database}`;
  return parsed.href;
}
