// Connection URLs with one or several hosts, in the format of libpq: `postgres://user:password@a:5432,b:5432/database`.
// `URL` refuses several hosts with ports, so every reader of DATABASE_URL uses `readDatabaseUrl`. Opens no connection.

/** Address of a server. */
export interface Host {
  readonly host: string;
  readonly port: number;
}

/** A connection URL that was read. */
interface DatabaseUrl {
  /** The URL with the first host only. */
  readonly url: URL;
  /** The hosts and the path of the URL as written, without user and password. */
  readonly authority: string;
  /** Hosts among which the server that accepts writes is chosen; null if the host of the URL is always used. */
  readonly writers: readonly Host[] | null;
}

const HOSTS_MAX = 8;
const PORT = 5432;
const FORM = 'postgres://user:password@host:port/database';
const SEVERAL = 'postgres://user:password@a:5432,b:5432/database?target_session_attrs=read-write';

/**
 * @param name name of the variable, for the message.
 * @throws {Error} that describes the problem without any part of the URL, which contains a password.
 */
export function readDatabaseUrl(text: string, name = 'The connection URL of the database'): DatabaseUrl {
  const problem = (what: string, instead: string): Error => new Error(`${name} ${what} ${instead}`);
  const [, before, authority, after] = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is.exec(text) ?? [];
  const hosts = (authority ?? '').split(',');
  const url = before === undefined ? null : URL.parse(`${before}${hosts[0]!}${after!}`);
  if (url === null && hosts.length === 1) throw problem('must have the form', FORM);
  const list = hosts.length > 1 ? hosts.map(readHost) : null;
  const unread = list?.indexOf(null) ?? -1;
  if (unread >= 0)
    throw problem(`has no host or no valid port in host ${unread + 1} of ${hosts.length}: write`, SEVERAL);
  if (url === null) throw problem('must have the form', SEVERAL);
  const target = url.searchParams.get('target_session_attrs');
  if (url.searchParams.get('host')?.includes(',') === true)
    throw problem('names several hosts in ?host=: write', SEVERAL);
  if (target !== null && !/^(?:any|read-write|primary)$/.test(target))
    throw problem('has an unsupported target_session_attrs: the platform writes, so use', 'read-write');
  const isWriter = target === 'read-write' || target === 'primary';
  if (list === null) return { url, authority: authority!, writers: isWriter ? onlyHost(url) : null };
  if (!isWriter) throw problem('names several hosts, which need', 'target_session_attrs=read-write');
  if (list.length > HOSTS_MAX) throw problem(`names ${list.length} hosts: the maximum is`, String(HOSTS_MAX));
  const writers = list.filter((one) => one !== null);
  if (new Set(writers.map(({ host, port }) => `${host.toLowerCase()}:${port}`)).size < writers.length)
    throw problem('names the same host twice: write', SEVERAL);
  return { url, authority: authority!, writers };
}

function readHost(text: string): Host | null {
  const found = /^(\[[\da-f:.]+\]|[^:[\]\s]+):(\d{1,5})$/i.exec(text);
  const port = Number(found?.[2]);
  if (found === null || port < 1 || port > 65_535) return null;
  return { host: decodeURIComponent(found[1]!.replace(/^\[|\]$/g, '')), port };
}

/** The host, if it is not the folder of a Unix socket. */
function onlyHost({ hostname, port, searchParams }: URL): readonly Host[] | null {
  const host = decodeURIComponent(searchParams.get('host') ?? hostname).replace(/^\[|\]$/g, '');
  if (host.startsWith('/')) return null;
  return [{ host: host || 'localhost', port: Number(searchParams.get('port') ?? port) || PORT }];
}

/** The URL of the first host; null for an invalid connection URL. Used by checks that must not throw. */
export function parseDatabaseUrl(text: string): URL | null {
  try {
    return readDatabaseUrl(text).url;
  } catch {
    return null;
  }
}

/** Reads every variable with the URL of the platform's Postgres. @throws {Error} naming the variable. */
export function checkDatabaseUrls(environment: Readonly<Record<string, string | undefined>>): void {
  for (const name of ['DATABASE_URL', 'ENGINE_DATABASE_URL', 'SANDBOX_DATABASE_URL']) {
    const text = environment[name]?.trim() ?? '';
    if (text !== '' && text.toLowerCase() !== 'none') readDatabaseUrl(text, name);
  }
}
