// Repositories of Git hosts that are used with access tokens: lists and connects them, and checks connected
// repositories. A check follows renames and moves, notices deleted and archived repositories, and repairs the webhook.
// A check runs on request, and about once a day, since hosts do not report these changes to the webhook of a
// repository.
import { isFailure } from '#core/failure.ts';
import { runRounds } from '#core/process/rounds.ts';
import type { TokenAccess, WebhookState } from '#git/host/access.ts';
import type { HostRepository } from '#git/host/repositories.ts';
import { repositoryUrl } from '#git/host/token-hosts.ts';
import type { Sql } from '#postgres/sql.ts';
import { decodeCursor, encodeCursor } from '../http/page.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { newId } from '../records/ids.ts';
import {
  asTokenErrors,
  hostedColumns,
  noteProblem,
  openHosted,
  webhookOf,
  type HostedRow,
  type Noted,
} from './hosts.ts';
import { disconnectReasons } from './installations.ts';

type Deps = Pick<Dependencies, 'sql' | 'keys' | 'git' | 'addresses'>;

const POLL_MS = 10 * 60_000;
const CHECK_HOURS = 24;
/** The delay after a check that the host did not answer. */
const RETRY_HOURS = 1;
const CHECKS_MAX = 20;
const PAGES_MAX = 200;

interface AccountRow extends Omit<HostedRow, 'repository_id' | 'host_id' | 'full_name'> {
  readonly webhook_secret: Uint8Array;
}

/** @throws {ApiError} `not_found` for an account of another organization. */
async function findAccount(sql: Sql, organizationId: string, accountId: string): Promise<AccountRow> {
  const [row] = await sql<AccountRow[]>`
    SELECT installation.id AS account_id, git_host.id AS git_host_id, git_host.kind AS host_kind,
           git_host.name AS host_name, git_host.url AS host_url, installation.token, installation.is_grant, git_host.webhook_secret
      FROM control.installation JOIN control.git_host ON git_host.id = installation.git_host_id
     WHERE installation.id = ${accountId} AND installation.organization_id = ${organizationId}`;
  if (row === undefined) throw new ApiError('not_found');
  return row;
}

/** A page of the repositories that an account can reach. @throws {ApiError} */
export async function listByToken(
  deps: Deps,
  organizationId: string,
  accountId: string,
  { search, cursor }: { readonly search: string; readonly cursor: string | null },
): Promise<{ readonly repositories: readonly HostRepository[]; readonly nextCursor: string | null }> {
  const access = openHosted(deps, await findAccount(deps.sql, organizationId, accountId));
  const page = cursor === null ? 1 : Math.min(PAGES_MAX, Math.max(1, Number(decodeCursor(cursor).id) || 1));
  const { repositories, hasMore } = await asTokenErrors(() => access.listRepositories({ search, page }));
  const isLast = !hasMore || page >= PAGES_MAX;
  return { repositories, nextCursor: isLast ? null : encodeCursor({ order: 'page', id: String(page + 1) }) };
}

/**
 * Connects a repository by an account of the organization, or connects it again, with its webhook.
 *
 * @returns the id of the repository's record
 * @throws {ApiError} `not_found`; `unprocessable` if the account is not allowed to create the webhook.
 */
export async function connectByToken(
  deps: Deps,
  given: { readonly organizationId: string; readonly accountId: string; readonly hostId: string },
  note: Noted,
): Promise<string> {
  const { organizationId, accountId, hostId } = given;
  const account = await findAccount(deps.sql, organizationId, accountId);
  const access = openHosted(deps, account);
  const repository = await asTokenErrors(() => access.readRepository({ id: hostId, fullName: '' }));
  if (repository === null) throw new ApiError('not_found');
  if (repository.isArchived) throw new ApiError('unprocessable', { reason: 'The repository is archived' });
  const webhook = webhookOf(deps, { id: account.git_host_id, webhook_secret: account.webhook_secret }, repository.id);
  await asTokenErrors(async () => {
    try {
      await access.ensureWebhook(repository, webhook, true);
    } catch (error) {
      if (!isFailure(error, 'git_host') || (error.status !== 403 && error.status !== 404)) throw error;
      throw new ApiError('unprocessable', {
        reason: `The account cannot manage webhooks of ${repository.fullName}: it must administer the repository. ${error.message}`,
      });
    }
  });
  return deps.sql.begin(async (tx) => {
    const url = repositoryUrl({ kind: account.host_kind, url: account.host_url }, repository.fullName);
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`repository:${organizationId}:${account.git_host_id}:${hostId}`}, 0))`;
    const [known] = await tx<{ id: string }[]>`
      UPDATE control.repository
         SET installation_id = ${accountId}, full_name = ${repository.fullName}, url = ${url}, checked_at = now(),
             check_problem = NULL, default_branch = ${repository.defaultBranch}, disconnected_at = NULL,
             disconnect_reason = NULL
       WHERE organization_id = ${organizationId} AND git_host_id = ${account.git_host_id} AND host_id = ${repository.id}
      RETURNING id`;
    const id = known?.id ?? newId('repository');
    await note(tx, id, repository.fullName);
    if (known !== undefined) return id;
    await tx`
      INSERT INTO control.repository (id, organization_id, source, host_id, installation_id, git_host_id, full_name, url,
        default_branch, checked_at)
      VALUES (${id}, ${organizationId}, 'git-host', ${repository.id}, ${accountId}, ${account.git_host_id},
        ${repository.fullName}, ${url}, ${repository.defaultBranch}, now())`;
    return id;
  });
}

interface CheckedRow extends HostedRow {
  readonly webhook_secret: Uint8Array;
}

function checkedRows(sql: Sql, condition: ReturnType<Sql>) {
  return sql<CheckedRow[]>`
    SELECT ${hostedColumns(sql)}, git_host.webhook_secret
      FROM control.repository JOIN control.installation ON installation.id = repository.installation_id
      JOIN control.git_host ON git_host.id = repository.git_host_id
     WHERE ${condition} ORDER BY repository.checked_at NULLS FIRST LIMIT ${CHECKS_MAX}`;
}

/** Result of a check. */
interface Checked {
  /** Null if the repository no longer exists. */
  readonly webhook: WebhookState | null;
}

/**
 * Checks a connected repository now, and writes its webhook again.
 *
 * @throws {ApiError} `unprocessable` for another kind of repository, or with the reason of the host's refusal.
 */
export async function checkNow(deps: Deps, repositoryId: string): Promise<Checked> {
  const [row] = await checkedRows(deps.sql, deps.sql`repository.id = ${repositoryId}`);
  if (row === undefined)
    throw new ApiError('unprocessable', {
      reason: 'Only repositories that an account of a Git host connects can be checked; or its account was removed',
    });
  return asTokenErrors(() => check(deps, row, true));
}

async function check(deps: Deps, row: CheckedRow, rewrite: boolean): Promise<Checked> {
  const { sql } = deps;
  const access = openHosted(deps, row);
  try {
    const found = await followRepository(sql, access, row);
    const webhook =
      found === null
        ? null
        : await access.ensureWebhook(
            found,
            webhookOf(deps, { id: row.git_host_id, webhook_secret: row.webhook_secret }, row.host_id),
            rewrite,
          );
    await sql`UPDATE control.repository SET checked_at = now(), check_problem = NULL WHERE id = ${row.repository_id}`;
    await noteProblem(sql, row.account_id, null);
    return { webhook };
  } catch (error) {
    if (!isFailure(error, 'git_host')) throw error;
    const hours = error.reason === 'refused' ? 0 : CHECK_HOURS - RETRY_HOURS;
    await sql`UPDATE control.repository
                 SET checked_at = now() - ${`${hours} hours`}::interval, check_problem = ${error.message.slice(0, 500)}
               WHERE id = ${row.repository_id}`;
    if (error.status === 401) await noteProblem(sql, row.account_id, error.message);
    throw error;
  }
}

/**
 * Reads a repository by the host's id and updates its name, its default branch, and whether it is archived or deleted.
 * Updates all records of the repository. @returns null if the repository was deleted.
 */
async function followRepository(
  sql: Sql,
  access: TokenAccess,
  row: Pick<HostedRow, 'host_id' | 'git_host_id' | 'full_name' | 'host_kind' | 'host_url' | 'repository_id'>,
): Promise<HostRepository | null> {
  const found = await access.readRepository({ id: row.host_id, fullName: row.full_name });
  if (found === null) {
    // The account is checked as well: if the host has lost its data, or a proxy answers instead, it is also unknown.
    await access.readAccount();
    await disconnect(sql, row.repository_id, 'gone');
    return null;
  }
  const url = repositoryUrl({ kind: row.host_kind, url: row.host_url }, found.fullName);
  // The project's production branch does not change, because that would change what the next push deploys.
  await sql`
    UPDATE control.repository
       SET full_name = ${found.fullName}, url = ${url}, default_branch = ${found.defaultBranch}
     WHERE git_host_id = ${row.git_host_id} AND host_id = ${row.host_id}
       AND (full_name, default_branch) IS DISTINCT FROM (${found.fullName}, ${found.defaultBranch})`;
  if (found.isArchived) await disconnect(sql, row.repository_id, 'archived');
  else
    await sql`
      UPDATE control.repository SET disconnected_at = NULL, disconnect_reason = NULL
       WHERE id = ${row.repository_id}
         AND disconnect_reason IN (${disconnectReasons.archived}, ${disconnectReasons.gone})`;
  return found;
}

async function disconnect(sql: Sql, repositoryId: string, reason: 'gone' | 'archived'): Promise<void> {
  await sql`UPDATE control.repository SET disconnected_at = now(), disconnect_reason = ${disconnectReasons[reason]}
             WHERE id = ${repositoryId} AND disconnected_at IS NULL`;
}

/** Checks repositories that were not checked for a day, until the process ends. */
export function followChecks(deps: Dependencies): Promise<void> {
  return runRounds(deps, { failure: 'Repositories could not be checked: retrying', pollMs: POLL_MS }, () =>
    workOnChecks(deps),
  );
}

/** Checks the repositories that are due. @returns whether more repositories may be due */
export async function workOnChecks(deps: Dependencies): Promise<boolean> {
  const { sql } = deps;
  // A new due time prevents other API processes from checking the same repositories. A repository whose check fails is
  // due again after RETRY_HOURS.
  const due = await sql<{ id: string }[]>`
    UPDATE control.repository SET checked_at = now() - ${`${CHECK_HOURS - RETRY_HOURS} hours`}::interval
     WHERE id IN (
       SELECT id FROM control.repository
        WHERE git_host_id IS NOT NULL AND installation_id IS NOT NULL
          AND (checked_at IS NULL OR checked_at < now() - ${`${CHECK_HOURS} hours`}::interval)
        ORDER BY checked_at NULLS FIRST LIMIT ${CHECKS_MAX} FOR UPDATE SKIP LOCKED)
    RETURNING id`;
  if (due.length === 0) return false;
  const rows = await checkedRows(sql, sql`repository.id IN ${sql(due.map(({ id }) => id))}`);
  // An unresponsive host delays the checks of other hosts only once, not for each of its repositories.
  const away = new Set<string>();
  for (const row of rows) {
    if (deps.stopping.aborted) break;
    if (away.has(row.git_host_id)) continue;
    try {
      await check(deps, row, false);
    } catch (error) {
      if (!isFailure(error, 'git_host')) throw error;
      if (error.reason !== 'refused') away.add(row.git_host_id);
      deps.log.warn({ err: error, repository: row.repository_id }, 'Repository not checked');
    }
  }
  return due.length === CHECKS_MAX && away.size === 0;
}

/** Prepares the removal of a repository's webhook: call the result once its record is deleted. */
export async function webhookRemoval(deps: Deps & Pick<Dependencies, 'log'>, repositoryId: string) {
  const [row] = await checkedRows(deps.sql, deps.sql`repository.id = ${repositoryId}`);
  return async (): Promise<void> => {
    if (row === undefined) return;
    const others = await deps.sql`
      SELECT FROM control.repository WHERE git_host_id = ${row.git_host_id} AND host_id = ${row.host_id}`;
    if (others.length > 0) return;
    try {
      const host = { id: row.git_host_id, webhook_secret: row.webhook_secret };
      const { url } = webhookOf(deps, host, row.host_id);
      await openHosted(deps, row).removeWebhook({ id: row.host_id, fullName: row.full_name }, url);
    } catch (error) {
      if (!isFailure(error, 'git_host')) throw error;
      deps.log.warn({ err: error, repository: row.full_name }, 'The webhook could not be removed from the Git host');
    }
  };
}

/** The connected repository of a delivery, opened by the first account that can. */
interface Current {
  readonly access: TokenAccess;
  readonly repository: HostRepository;
}

/**
 * Opens the repository of a delivery and updates its name.
 *
 * @returns null where the host refuses the token, or no organization has connected the repository.
 * @throws {Failure} `git_host` if the host does not answer: the delivery is then retried.
 */
export async function currentRepository(
  deps: Deps,
  { gitHostId, repositoryId }: { readonly gitHostId: string; readonly repositoryId: string },
): Promise<Current | null> {
  const { sql } = deps;
  const rows = await checkedRows(
    sql,
    sql`repository.git_host_id = ${gitHostId} AND repository.host_id = ${repositoryId}
        AND repository.disconnected_at IS NULL`,
  );
  for (const row of rows)
    try {
      const access = openHosted(deps, row);
      const repository = await followRepository(sql, access, row);
      if (repository !== null) return { access, repository };
    } catch (error) {
      if (!isFailure(error, 'git_host') || error.reason !== 'refused') throw error;
      if (error.status === 401) await noteProblem(sql, row.account_id, error.message);
    }
  return null;
}
