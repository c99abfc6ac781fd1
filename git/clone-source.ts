// Data for cloning a connected repository: its URL and short-lived credentials (for a Git host, a token that can only
// read this repository). Resolved when a build starts; the result is never stored.
import { isIPv4 } from 'node:net';
import { unseal, type EncryptionKeys } from '#core/encryption.ts';
import { Failure, isFailure } from '#core/failure.ts';
import type { Sql } from '#postgres/sql.ts';
import { repositoryFolder } from './builtin-repositories.ts';
import type { GitHost } from './host/connection.ts';
import { openGithub } from './host/kinds/github.ts';
import { openAccount } from './host/grants.ts';
import { hostnameOf, hostTitle, repositoryUrl, type TokenHostKindName } from './host/token-hosts.ts';
import { parseRemoteUrl, resolveRemote, type RemoteUrl } from './host/remote-url.ts';

/** A repository to fetch from. */
export interface RemoteSource {
  /** Without credentials. */
  readonly url: string;
  /** HTTP headers that git sends with every request to the repository. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A private key in OpenSSH format. */
  readonly sshKey?: string;
  /** Lines of `known_hosts`. Without known hosts, the first key that the host presents is accepted. */
  readonly sshKnownHosts?: string;
  /** The addresses that the host name resolved to when it was checked. Git connects only to these addresses. */
  readonly address?: string;
  /** Whether `http:` is allowed, for the operator's own Git host. */
  readonly isPlainHttp?: boolean;
}

/** Repository and branch to clone. */
type CloneSource = (RemoteSource | { readonly folder: string }) & {
  /** Secrets to redact from logs and errors. */
  readonly redact: readonly string[];
};

/** Credentials of a plain remote, as stored encrypted. */
export interface RemoteCredentials {
  readonly username?: string;
  readonly password?: string;
  readonly sshKey?: string;
  /** Public key of a key pair that the platform generated. */
  readonly publicKey?: string;
  readonly knownHosts?: string;
}

/** What {@link cloneSource} needs. */
export interface CloneDeps {
  readonly sql: Sql;
  readonly keys: EncryptionKeys;
  /** Data folder, `FS_PATH`. */
  readonly folder: string;
  /** Null if no application is configured. */
  readonly gitHost: GitHost | null;
  /** `GIT_REMOTE_PRIVATE_HOSTS`: remotes whose addresses may be private. */
  readonly privateHosts: readonly string[];
}

interface Row {
  readonly source: string;
  readonly host_id: string | null;
  readonly installation_id: string | null;
  readonly full_name: string;
  readonly url: string;
  readonly credentials: Uint8Array | null;
  readonly disconnected_at: Date | null;
  readonly disconnect_reason: string | null;
  // Null means the host of GITHOST_URL.
  readonly git_host_id: string | null;
  readonly host_kind: TokenHostKindName;
  readonly host_name: string;
  readonly host_url: string;
  readonly token: Uint8Array | null;
  readonly is_grant: boolean;
}

/**
 * Resolves the URL and credentials for cloning a repository.
 *
 * @throws {Failure} `clone_refused` when the repository is disconnected, or its address or credentials are not allowed.
 * @throws {Failure} `git_host` when the Git host issues no token.
 * @example const source = await cloneSource(parts, 'rep_4m1k8...'); // { url, headers, redact }
 */
export async function cloneSource(deps: CloneDeps, repositoryId: string): Promise<CloneSource> {
  const [row] = await deps.sql<Row[]>`
    SELECT source, host_id, installation_id, full_name, repository.url, credentials, disconnected_at, disconnect_reason,
           repository.git_host_id, git_host.kind AS host_kind, git_host.name AS host_name, git_host.url AS host_url,
           installation.token, installation.is_grant
      FROM control.repository LEFT JOIN control.installation ON installation.id = installation_id
      LEFT JOIN control.git_host ON git_host.id = repository.git_host_id
     WHERE repository.id = ${repositoryId}`;
  if (row === undefined) throw new Failure('clone_refused', 'The repository is no longer connected');
  if (row.disconnected_at !== null)
    throw new Failure(
      'clone_refused',
      `The repository ${row.full_name} is disconnected: ${row.disconnect_reason ?? 'unknown'}`,
    );
  if (row.source === 'builtin') return { folder: repositoryFolder(deps.folder, repositoryId), redact: [] };
  if (row.source === 'git-host' && row.git_host_id === null) return hostedSource(deps, row);
  try {
    if (row.git_host_id !== null) return await tokenSource(deps, row, row.git_host_id);
    const credentials = openCredentials(deps.keys, repositoryId, row.credentials);
    return await remoteSource(parseRemoteUrl(row.url), credentials, deps.privateHosts);
  } catch (error) {
    throw isFailure(error, 'remote_refused') ? new Failure('clone_refused', error.message) : error;
  }
}

async function hostedSource({ gitHost, privateHosts }: CloneDeps, row: Row): Promise<CloneSource> {
  if (gitHost === null)
    throw new Failure(
      'clone_refused',
      'No Git-host application is configured: the operator creates one in the dashboard, or sets GITHOST_APP_ID and GITHOST_APP_PRIVATE_KEY',
    );
  if (row.installation_id === null || row.host_id === null)
    throw new Failure('clone_refused', `The Git-host application is no longer installed for ${row.full_name}`);
  const access = openGithub(gitHost, row.installation_id);
  const { username, password } = await access.cloneCredential({ id: row.host_id, fullName: row.full_name });
  const url = `${gitHost.url}/${row.full_name}.git`;
  if (gitHost.isPrivate !== undefined) {
    const addresses = await resolveRemote({ host: hostnameOf(url) }, privateHosts);
    const address = preferred(addresses);
    return { url, address, isPlainHttp: url.startsWith('http:'), ...basic(username, password) };
  }
  return { url, isPlainHttp: url.startsWith('http:'), ...basic(username, password) };
}

/** The source of a repository on a host that is used with a token. The repository may have been renamed. */
async function tokenSource(deps: CloneDeps, row: Row, hostId: string): Promise<CloneSource> {
  if (row.installation_id === null || row.token === null || row.host_id === null)
    throw new Failure('clone_refused', `The account that connected ${row.full_name} was removed: connect it again`);
  const host = { id: hostId, kind: row.host_kind, name: row.host_name, url: row.host_url };
  const access = openAccount(deps, host, { id: row.installation_id, token: row.token, is_grant: row.is_grant });
  const found = await access.readRepository({ id: row.host_id, fullName: row.full_name });
  if (found === null)
    throw new Failure(
      'clone_refused',
      `${row.full_name} was deleted on ${hostTitle(host)}, or its account can no longer see it`,
    );
  const { username, password } = await access.cloneCredential(found);
  const url = `${repositoryUrl(host, found.fullName)}.git`;
  const addresses = await resolveRemote({ host: hostnameOf(url) }, deps.privateHosts);
  return { url, address: preferred(addresses), isPlainHttp: url.startsWith('http:'), ...basic(username, password) };
}

/** The encryption context of a repository's credentials. */
export function credentialsContext(repositoryId: string): string {
  return `repository:${repositoryId}`;
}

/** Credentials of a remote, decrypted. */
export function openCredentials(
  keys: EncryptionKeys,
  repositoryId: string,
  sealed: Uint8Array | null,
): RemoteCredentials {
  if (sealed === null) return {};
  return JSON.parse(unseal(keys, sealed, credentialsContext(repositoryId))) as RemoteCredentials;
}

/**
 * Resolves the URL and credentials for cloning a plain remote.
 *
 * @throws {Failure} `remote_refused` when its host is not allowed.
 */
export async function remoteSource(
  remote: RemoteUrl,
  credentials: RemoteCredentials,
  privateHosts: readonly string[],
): Promise<RemoteSource & { readonly redact: readonly string[] }> {
  const addresses = await resolveRemote(remote, privateHosts);
  const address = preferred(addresses);
  const { sshKey, knownHosts, username = '', password = '' } = credentials;
  if (remote.protocol === 'ssh') {
    if (sshKey === undefined) throw new Failure('remote_refused', 'An ssh remote needs a private key');
    const known = knownHosts === undefined ? {} : { sshKnownHosts: knownHosts };
    return { url: remote.url, address, sshKey, ...known, redact: [sshKey] };
  }
  const secret = username === '' && password === '' ? { redact: [] } : basic(username, password);
  return { url: remote.url, address, ...secret };
}

function preferred(addresses: readonly string[]): string {
  return addresses.find((each) => isIPv4(each)) ?? addresses[0]!;
}

function basic(username: string, password: string): Pick<RemoteSource, 'headers'> & { readonly redact: string[] } {
  const encoded = Buffer.from(`${username}:${password}`).toString('base64');
  // A token without a user name is sent as the user name.
  return { headers: { Authorization: `Basic ${encoded}` }, redact: [encoded, password || username] };
}
