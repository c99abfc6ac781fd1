// Checks the URLs and branch names that are passed to git. Refused input could run a program (`ext::`), read local
// files (`file://`), be parsed as an option (`-`), or reach private addresses. Used when a repository is connected and
// again before each use.
import { isIP } from 'node:net';
import { createOwnAddresses, mayConnect, type EgressPolicy } from '#core/egress.ts';
import { Failure } from '#core/failure.ts';
import { createResolve } from '#core/outbound/host-names.ts';

/** A remote's URL without credentials, and the credentials it contained. */
export interface RemoteUrl {
  /** `https://host/path` or `ssh://user@host/path`. */
  readonly url: string;
  readonly protocol: 'https' | 'ssh';
  readonly host: string;
  readonly port: number;
  readonly credentials: { readonly username: string; readonly password: string } | null;
}

const URL_LENGTH_MAX = 2048;
const BRANCH_BYTES_MAX = 255;
/** `git@host:owner/name.git`: the ssh address that hosts display. */
const SCP_FORM = /^(?<user>[\w.-]+)@(?<host>[\w.-]+):(?<path>[^/:].*)$/;

const HOST = /^(?:[a-z0-9_][a-z0-9._-]*|\[[0-9a-f:.]+\])$/;

/**
 * Parses the URL of a remote.
 *
 * @throws {Failure} `remote_refused` for protocols other than https and ssh, and for invalid URLs.
 * @example parseRemoteUrl('git@git.example:team/shop.git').url // 'ssh://git@git.example/team/shop.git'
 */
export function parseRemoteUrl(text: string): RemoteUrl {
  if (text.length > URL_LENGTH_MAX)
    throw new Failure('remote_refused', `The URL is longer than ${URL_LENGTH_MAX} characters`);
  if (/[^\x21-\x7e]/.test(text))
    throw new Failure('remote_refused', 'The URL must be ASCII without spaces and control characters');
  const scp = SCP_FORM.exec(text)?.groups;
  const parsed = URL.parse(scp === undefined ? text : `ssh://${scp['user']}@${scp['host']}/${scp['path']}`);
  if (parsed === null || !/^(?:https|ssh):$/.test(parsed.protocol) || !/^(?:https|ssh):\/\/|^[^/]+@/i.test(text))
    throw new Failure('remote_refused', 'Only https:// and ssh:// URLs of Git repositories are supported');
  const protocol = parsed.protocol === 'https:' ? 'https' : 'ssh';
  const { pathname, search, hash } = parsed;
  // The URL parser accepts any characters in ssh URLs.
  const hostname = parsed.hostname.toLowerCase();
  if (!HOST.test(hostname)) throw new Failure('remote_refused', 'The URL has no valid host');
  if (pathname.length < 2) throw new Failure('remote_refused', 'The URL has no path to a repository');
  if (search !== '' || hash !== '')
    throw new Failure('remote_refused', 'The URL of a repository must not have a query (?) or a fragment (#)');
  const username = decoded(parsed.username);
  const password = decoded(parsed.password);
  if (protocol === 'ssh' && password !== '')
    throw new Failure('remote_refused', 'ssh uses a key, not a password: leave the password out');
  if (protocol === 'ssh' && !/^[\w.][\w.-]*$/.test(username))
    throw new Failure('remote_refused', 'An ssh URL must have a user: ssh://git@host/path');
  const defaultPort = protocol === 'https' ? 443 : 22;
  const port = parsed.port === '' ? defaultPort : Number(parsed.port);
  const authority = port === defaultPort ? hostname : `${hostname}:${port}`;
  return {
    url: protocol === 'ssh' ? `ssh://${username}@${authority}${pathname}` : `https://${authority}${pathname}`,
    protocol,
    host: hostname.replace(/^\[|\]$/g, ''),
    port,
    credentials: protocol === 'https' && (username !== '' || password !== '') ? { username, password } : null,
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Failure('remote_refused', 'The credentials in the URL are not URL-encoded');
  }
}

/** Resolves a host name to its addresses. */
type Lookup = (host: string) => Promise<readonly { readonly address: string }[]>;

const byName: Lookup = createResolve();
const isOwn = createOwnAddresses();
const publicOnly: EgressPolicy = { loopback: false, private: false, isOwn };

/**
 * The addresses of a remote's host. Git connects only to these addresses, which prevents DNS rebinding.
 *
 * @param privateHosts hosts that may have private addresses, `GIT_REMOTE_PRIVATE_HOSTS`.
 * @throws {Failure} `remote_refused` when an address is private, loopback, link-local or the machine's own, or none is
 * found.
 */
export async function resolveRemote(
  { host }: Pick<RemoteUrl, 'host'>,
  privateHosts: readonly string[],
  find: Lookup = byName,
): Promise<readonly string[]> {
  let addresses: readonly string[];
  try {
    addresses = isIP(host) === 0 ? (await find(host)).map(({ address }) => address) : [host];
  } catch (error) {
    throw new Failure(
      'remote_refused',
      `The host ${host} cannot be resolved: ${(error as { code?: string }).code ?? 'no answer'}`,
    );
  }
  if (addresses.length === 0) throw new Failure('remote_refused', `The host ${host} has no address`);
  if (!privateHosts.includes(host) && !addresses.every((address) => mayConnect(address, publicOnly)))
    throw new Failure(
      'remote_refused',
      `The host ${host} has an address that is not public; the operator allows such hosts with GIT_REMOTE_PRIVATE_HOSTS`,
    );
  return addresses;
}

/** Whether a text is a valid branch name (`git check-ref-format --branch`) and not an option. */
export function isBranchName(name: string): boolean {
  if (name === '' || name === '@' || Buffer.byteLength(name) > BRANCH_BYTES_MAX) return false;
  // oxlint-disable-next-line no-control-regex -- git refuses control characters.
  if (/[\0-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|\.$|^[-/]|\/$/.test(name)) return false;
  return name.split('/').every((part) => !part.startsWith('.') && !part.endsWith('.lock'));
}

/** Whether a text is a commit hash: 40 hexadecimal digits, or 64 for SHA-256 repositories. */
export function isCommitSha(text: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}
