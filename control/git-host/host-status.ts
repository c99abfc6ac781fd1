// The state of a Git host that is used with access tokens, for the operator and `platform doctor`: accounts whose token
// does not work or expires soon, and reports that the host has not accepted yet.
import type { Sql } from '#postgres/sql.ts';

/** Counts and problems of a host. */
interface HostStatus {
  readonly accounts: number;
  readonly repositories: number;
  /** Reports of deployments that the host has not accepted yet, after at least one attempt. */
  readonly waitingReports: number;
  /** At most ten sentences; empty if there is no problem. */
  readonly problems: readonly string[];
}

const PROBLEMS_MAX = 10;
const EXPIRY_DAYS = 7;

/** Reads the state of a host. */
export async function hostStatus(sql: Sql, hostId: string): Promise<HostStatus> {
  const [counts] = await sql<{ accounts: number; repositories: number }[]>`
    SELECT (SELECT count(*) FROM control.installation WHERE git_host_id = ${hostId})::int AS accounts,
           (SELECT count(*) FROM control.repository WHERE git_host_id = ${hostId})::int AS repositories`;
  const accounts = await sql<{ account_login: string; slug: string; problem: string | null; expires: string | null }[]>`
    SELECT account_login, organization.slug, problem, to_char(token_expires_at, 'YYYY-MM-DD') AS expires
      FROM control.installation JOIN control.organization ON organization.id = organization_id
     WHERE git_host_id = ${hostId}
       AND (problem IS NOT NULL OR token_expires_at < now() + ${`${EXPIRY_DAYS} days`}::interval)
     ORDER BY slug, account_login LIMIT ${PROBLEMS_MAX}`;
  const [waiting] = await sql<{ count: number; error: string | null }[]>`
    SELECT count(*)::int AS count, max(git_report.error) AS error
      FROM control.git_report
      JOIN control.deployment ON deployment.id = git_report.deployment_id
      JOIN control.project ON project.id = deployment.project_id
      JOIN control.repository ON repository.id = project.repository_id
     WHERE repository.git_host_id = ${hostId} AND due_at IS NOT NULL AND git_report.error IS NOT NULL`;
  const unchecked = await sql<{ full_name: string; check_problem: string }[]>`
    SELECT full_name, check_problem FROM control.repository
     WHERE git_host_id = ${hostId} AND check_problem IS NOT NULL AND disconnected_at IS NULL
     ORDER BY full_name LIMIT ${PROBLEMS_MAX}`;
  const problems = [
    ...accounts.map(({ account_login: login, slug, problem, expires }) => {
      const who = `The token of ${login} (organization ${slug})`;
      return problem === null ? `${who} expires on ${expires}: connect the account again` : `${who}: ${problem}`;
    }),
    ...(waiting!.error === null ? [] : [`${waiting!.count} reports of deployments wait: ${waiting!.error}`]),
    ...unchecked.map((row) => `${row.full_name} could not be checked: ${row.check_problem}`),
  ];
  return { ...counts!, waitingReports: waiting!.count, problems: problems.slice(0, PROBLEMS_MAX) };
}
