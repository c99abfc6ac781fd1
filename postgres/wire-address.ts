// Where a database is and who asks, as wire-connection.ts needs it: read from the same URLs that the driver takes (connection.ts).
import { splitUrl } from './connection.ts';
import type { WireUser } from './wire-login.ts';

/** A database, and how to reach it. */
export interface WireAddress extends WireUser {
  /** Unix socket; null: `host` and `port`. */ readonly path: string | null;
  readonly host: string;
  readonly port: number;
  readonly database: string;
  /** `unverified` encrypts without asking whose certificate it is; `preferred` takes it where the server offers it. */
  readonly tls: 'none' | 'preferred' | 'unverified' | 'verified';
  /** Settings of the session. */ readonly parameters: Readonly<Record<string, string>>;
}

/** Parameters of a URL that are no settings of the session. */
const ofDriver =
  /^(?:host|port|ssl\w*|channel_binding|connect_timeout|idle_timeout|max\w*|backoff|keep_alive|prepare|debug|fetch_types|publications|target_session_attrs|timeout)$/;

/** @throws {Error} when the URL is none of a Postgres. */
export function toWireAddress(url: string, parameters: Readonly<Record<string, string>>): WireAddress {
  const { address, socketFolder } = splitUrl(url);
  const parsed = new URL(address);
  const port = parsed.port === '' ? 5432 : Number(parsed.port);
  const query = [...parsed.searchParams].filter(([name]) => !ofDriver.test(name));
  const user = decodeURIComponent(parsed.username);
  return {
    path: socketFolder === null ? null : `${socketFolder}/.s.PGSQL.5432`,
    host: parsed.hostname.replace(/^\[|\]$/g, '') || 'localhost',
    port,
    user,
    password: decodeURIComponent(parsed.password),
    database: decodeURIComponent(parsed.pathname.slice(1)) || user,
    tls: socketFolder === null ? toTls(parsed.searchParams) : 'none',
    parameters: { ...Object.fromEntries(query), ...parameters },
  };
}

function toTls(query: URLSearchParams): WireAddress['tls'] {
  const mode = query.get('sslrootcert') === 'system' ? 'verify-full' : (query.get('sslmode') ?? query.get('ssl') ?? 'disable');
  if (mode === 'disable' || mode === 'false') return 'none';
  if (mode === 'prefer') return 'preferred';
  return mode === 'require' || mode === 'allow' ? 'unverified' : 'verified';
}
