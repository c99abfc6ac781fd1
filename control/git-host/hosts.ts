// Records of the Git hosts that are used with access tokens: the operator creates and removes them. This file also
// decrypts a record, and derives the URL and secret of the webhook of each of its repositories.
import { createHmac, randomBytes } from 'node:crypto';
import { seal, unseal } from '#core/encryption.ts';
import { isFailure } from '#core/failure.ts';
import { urlProblem } from '#core/outbound/post.ts';
import type { HostWebhook, TokenAccess, TokenHostKind } from '#git/host/access.ts';
import { openAccount } from '#git/host/grants.ts';
import { askRest } from '#git/host/rest.ts';
import {
  hostTitle,
  isPrivateHost,
  tokenHostKinds,
  type TokenHost,
  type TokenHostKindName,
} from '#git/host/token-hosts.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { newId } from '../records/ids.ts';

/** Hosts of an installation of the platform. */
const HOSTS_MAX = 50;
const SECRET_BYTES = 32;

/** A host's row. */
export interface HostRow {
  readonly id: string;
  readonly kind: TokenHostKindName;
  readonly name: string;
  readonly url: string;
  readonly webhook_secret: Uint8Array;
  /** The client of the host's OAuth application, or null. */
  readonly oauth_client_id: string | null;
  readonly oauth_client_secret: Uint8Array | null;
  readonly created_at: Date;
}

/** The encryption context of a host's webhook secret. */
export function hostContext(hostId: string): string {
  return `git-host:${hostId}`;
}

/** Writes the audit log entry of a change in its transaction. */
export type Noted = (tx: Transaction, id: string, name: string) => Promise<void>;

/**
 * Creates the record of a host, if the host responds.
 *
 * @param url null means the public service of this kind of host.
 * @throws {ApiError} `bad_request` for an invalid URL, `unprocessable` if the host does not respond, `conflict` if it
 * already has a record.
 */
export async function createHost(
  deps: Pick<Dependencies, 'sql' | 'keys' | 'git'>,
  { kind, name, url: given }: { readonly kind: TokenHostKindName; readonly name: string; readonly url: string | null },
  note: Noted,
): Promise<HostRow> {
  const url = await reachableUrl(deps, kind, given ?? tokenHostKinds[kind].publicUrl);
  const id = newId('gitHost');
  const secret = seal(deps.keys, randomBytes(SECRET_BYTES).toString('hex'), hostContext(id));
  return deps.sql.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended('git-hosts', 0))`;
    const hosts = await tx<{ name: string; url: string }[]>`SELECT name, url FROM control.git_host`;
    const same = hosts.find((host) => host.url === url || host.name.toLowerCase() === name.toLowerCase());
    if (same !== undefined)
      throw new ApiError('conflict', { reason: `The Git host "${same.name}" (${same.url}) exists already` });
    if (hosts.length >= HOSTS_MAX) throw new ApiError('conflict', { reason: `There are ${HOSTS_MAX} Git hosts` });
    const [row] = await tx<HostRow[]>`
      INSERT INTO control.git_host (id, kind, name, url, webhook_secret) VALUES (${id}, ${kind}, ${name}, ${url}, ${secret})
      RETURNING *`;
    await note(tx, id, name);
    return row!;
  });
}

async function reachableUrl(
  { git }: Pick<Dependencies, 'git'>,
  kind: TokenHostKindName,
  text: string | null,
): Promise<string> {
  const {
    title,
    apiUrlOf,
    urlAdvice,
    urlProblem: problemOf,
    probe,
    absentAdvice,
  } = tokenHostKinds[kind] as TokenHostKind;
  if (text === null) throw new ApiError('bad_request', { reason: `url: ${urlAdvice}` });
  const parsed = URL.parse(text);
  if (parsed === null || parsed.search !== '' || parsed.hash !== '')
    throw new ApiError('bad_request', { reason: `url must be a URL such as https://git.example` });
  const url = parsed.href.replace(/\/+$/, '');
  const isPrivate = isPrivateHost(url, git.privateHosts);
  const problem = urlProblem(url, isPrivate);
  const own = problem === null ? (problemOf?.(url) ?? null) : null;
  if (own !== null) throw new ApiError('bad_request', { reason: `url ${own}: ${urlAdvice}` });
  if (problem !== null)
    throw new ApiError('bad_request', {
      reason: `url: ${problem}, unless GIT_REMOTE_PRIVATE_HOSTS names its host`,
    });
  try {
    const who = hostTitle({ name: title, url });
    await askRest(
      { apiUrl: apiUrlOf(url), who, urlName: 'the API below this URL', isPrivate },
      { path: probe(url) },
      {},
    );
  } catch (error) {
    if (!isFailure(error, 'git_host')) throw error;
    // The host responded: some hosts require a token first.
    if (error.status === 401 || error.status === 403) return url;
    const more = absentAdvice === undefined ? '' : `. ${absentAdvice}`;
    const reason =
      error.reason === 'refused' ? `There is no ${title} at ${url}: ${error.message}${more}` : error.message;
    throw new ApiError('unprocessable', { reason });
  }
  return url;
}

/** All records, the oldest first. */
export async function listHosts(sql: Sql): Promise<HostRow[]> {
  return sql<HostRow[]>`SELECT * FROM control.git_host ORDER BY created_at, id`;
}

/** @throws {ApiError} `not_found` */
export async function findHost(sql: Sql, id: string): Promise<HostRow> {
  const [row] = await sql<HostRow[]>`SELECT * FROM control.git_host WHERE id = ${id}`;
  if (row === undefined) throw new ApiError('not_found');
  return row;
}

/**
 * Removes a host with its accounts and connected repositories; deployments are kept.
 *
 * @param disconnect whether its repositories may be disconnected. @throws {ApiError} `conflict` if repositories are
 * connected and must not be disconnected.
 */
export async function removeHost(
  { sql }: Pick<Dependencies, 'sql'>,
  host: HostRow,
  disconnect: boolean,
  note: Noted,
): Promise<void> {
  await sql.begin(async (tx) => {
    const [row] = await tx<{ count: number }[]>`
      SELECT count(*)::int AS count FROM control.repository WHERE git_host_id = ${host.id}`;
    if (row!.count > 0 && !disconnect)
      throw new ApiError('conflict', {
        reason: `${row!.count} repositories of ${host.name} are connected: pass disconnect=true to disconnect them. Deployments stay`,
      });
    await tx`DELETE FROM control.git_host WHERE id = ${host.id}`;
    await note(tx, host.id, host.name);
  });
}

/** The webhook of one repository, by the host's id. */
export function webhookOf(
  { keys, addresses }: Pick<Dependencies, 'keys' | 'addresses'>,
  host: Pick<HostRow, 'id' | 'webhook_secret'>,
  repositoryId: string,
): HostWebhook {
  return {
    url: `${addresses.api}/webhooks/git-host/${host.id}/${encodeURIComponent(repositoryId)}`,
    // Some hosts show a webhook's secret to the administrators of its repository, so each repository has its own
    // secret.
    secret: createHmac('sha256', unseal(keys, host.webhook_secret, hostContext(host.id)))
      .update(repositoryId)
      .digest('hex'),
  };
}

/** A connected repository with the columns that are needed to open it, as {@link hostedColumns} selects them. */
export interface HostedRow {
  readonly repository_id: string;
  readonly host_id: string;
  readonly full_name: string;
  readonly account_id: string;
  readonly git_host_id: string;
  readonly host_kind: TokenHostKindName;
  readonly host_name: string;
  readonly host_url: string;
  readonly token: Uint8Array;
  readonly is_grant: boolean;
}

/** Selects the columns of {@link HostedRow} from `repository`, `installation` and `git_host`. */
export function hostedColumns(sql: Sql) {
  return sql`repository.id AS repository_id, repository.host_id, repository.full_name, installation.id AS account_id,
    git_host.id AS git_host_id, git_host.kind AS host_kind, git_host.name AS host_name, git_host.url AS host_url,
    installation.token, installation.is_grant`;
}

/** Opens the account by which a repository is connected. */
export function openHosted(
  { sql, keys, git }: Pick<Dependencies, 'sql' | 'keys' | 'git'>,
  row: Omit<HostedRow, 'repository_id' | 'host_id' | 'full_name'>,
): TokenAccess {
  const host: TokenHost = { id: row.git_host_id, kind: row.host_kind, name: row.host_name, url: row.host_url };
  const { account_id: id, token, is_grant } = row;
  return openAccount({ sql, keys, privateHosts: git.privateHosts }, host, { id, token, is_grant });
}

/** Stores why an account's token does not work, or null if it works. */
export async function noteProblem(sql: Sql, accountId: string, problem: string | null): Promise<void> {
  await sql`UPDATE control.installation SET problem = ${problem?.slice(0, 500) ?? null}
             WHERE id = ${accountId} AND problem IS DISTINCT FROM ${problem?.slice(0, 500) ?? null}`;
}

/** Maps errors of a host that is used with a token to API errors. */
export async function asTokenErrors<Result>(ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask();
  } catch (error) {
    if (!isFailure(error, 'git_host')) throw error;
    throw new ApiError(error.reason === 'refused' ? 'unprocessable' : 'unavailable', { reason: error.message });
  }
}
