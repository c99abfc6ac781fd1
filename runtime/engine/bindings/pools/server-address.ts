// The server of a pool, from the URL in a variable of a project. Errors never contain the text: it has a password.
// Pure.
import { createHash } from 'node:crypto';
import { isIP } from 'node:net';

/** How a connection to a server uses TLS, as `sslmode` of libpq. */
type TlsMode = 'disable' | 'prefer' | 'require' | 'verify-ca' | 'verify-full';

/** A server, and the account that a pool has there. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly tls: TlsMode;
  /** Parameters of a session that the URL sets. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Identifies the account without containing it: only equal URLs have equal values. */
  readonly id: string;
}

const PORT = 5432;
const URL_CHARS_MAX = 4096;
const modes: Readonly<Record<string, TlsMode>> = {
  disable: 'disable',
  allow: 'prefer',
  prefer: 'prefer',
  require: 'require',
  'no-verify': 'require',
  'verify-ca': 'verify-ca',
  'verify-full': 'verify-full',
};
/** Session settings that a URL can contain. */
const SESSION_PARAMETERS = ['application_name', 'options', 'search_path'];

/** @returns the problem with the URL, without its text. */
export function parseServerAddress(text: string): ServerAddress | { readonly problem: string } {
  if (text.length > URL_CHARS_MAX) return { problem: `its URL has more than ${URL_CHARS_MAX} characters` };
  let url: URL;
  try {
    url = new URL(text.trim());
  } catch {
    return { problem: 'its value is not a URL such as postgres://user:password@db.example:5432/shop' };
  }
  if (url.protocol === 'mysql:' || url.protocol === 'mariadb:')
    return { problem: 'pools of MySQL are not supported: connect with mysql2 itself (docs/sockets.md)' };
  if (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:')
    return { problem: 'its URL must begin with postgres:// or postgresql://' };
  const { searchParams } = url;
  if (url.hostname === '' || searchParams.has('host')) return { problem: 'its URL must name a host' };
  const tls = searchParams.has('ssl') ? 'require' : (searchParams.get('sslmode') ?? 'prefer');
  const mode = Object.hasOwn(modes, tls) ? modes[tls]! : null;
  if (mode === null) return { problem: `the sslmode of its URL must be one of ${Object.keys(modes).join(', ')}` };
  if (searchParams.has('sslrootcert') || searchParams.has('sslcert') || searchParams.has('sslkey'))
    return { problem: 'certificates in its URL are not supported: the authorities of the platform are trusted' };
  try {
    const user = decodeURIComponent(url.username);
    const database = decodeURIComponent(url.pathname.slice(1)) || user;
    const password = decodeURIComponent(url.password);
    const host = decodeURIComponent(url.hostname.replace(/^\[(.*)\]$/, '$1')).toLowerCase();
    if (user === '') return { problem: 'its URL must name a user' };
    const parameters = Object.fromEntries(
      SESSION_PARAMETERS.flatMap((name) => {
        const value = searchParams.get(name);
        return value === null ? [] : [[name, value]];
      }),
    );
    const all = [host, user, database, password, ...Object.values(parameters)];
    if (all.some((value) => value.includes('\0'))) return { problem: 'its URL contains NUL' };
    if (isIP(host) === 0 && !/^[^\s/@[\]:]{1,253}$/.test(host)) return { problem: 'the host of its URL is not valid' };
    const id = createHash('sha256').update(text.trim()).digest('base64url');
    return { host, port: Number(url.port || PORT), user, password, database, tls: mode, parameters, id };
  } catch {
    return { problem: 'its URL has an escape that is not valid' };
  }
}
