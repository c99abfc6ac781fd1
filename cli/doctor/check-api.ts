// Checks of `platform doctor` for the chosen platform: reachability, permissions of the token, permissions on the Git
// host.
import type { Api } from '../account/api.ts';
import { ask } from '../api/requests.ts';
import { CliError } from '../terminal/failure.ts';
import { fail, ok, warn, type Finding } from '#operations/doctor/finding.ts';

interface User {
  readonly login: string;
  readonly organizations: readonly { readonly slug?: string; readonly name: string; readonly role: string }[];
  readonly token: { readonly scope?: string; readonly expiresAt?: string | null } | null;
}

interface GitHostStatus {
  readonly isConfigured: boolean;
  readonly missing: readonly { readonly name: string; readonly isRequired: boolean; readonly without: string }[];
  readonly problem: string | null;
}

const SOON_MS = 7 * 86_400_000;

/** Runs the checks; an unreachable platform is a single finding. */
export async function checkApi(api: Api): Promise<Finding[]> {
  try {
    await ask(api, 'GET', '/health');
  } catch (error) {
    return [
      fail(
        'api',
        `${api.origin}: ${messageOf(error)}`,
        'Start the platform (`npm start` in its clone), or choose another with --api.',
      ),
    ];
  }
  const answers = ok('api', `${api.origin} is reachable`);
  let user: User;
  try {
    user = await ask<User>(api, 'GET', '/user');
  } catch (error) {
    return [
      answers,
      fail('token', messageOf(error), `Run \`platform login --api ${api.origin}\`, or set PLATFORM_API_TOKEN.`),
    ];
  }
  return [answers, tokenOf(user), ...(await checkGitHosts(api)), ...(await checkMail(api))];
}

function tokenOf({ login, token, organizations }: User): Finding {
  const scope = token?.scope === undefined ? '' : `, scope ${token.scope}`;
  const where = organizations.map(({ slug, name, role }) => `${role} of ${slug ?? name}`).join(', ');
  const message = `${login}${scope}${where === '' ? '' : `, ${where}`}`;
  const left = token?.expiresAt == null ? Infinity : Date.parse(token.expiresAt) - Date.now();
  if (left < SOON_MS)
    return warn('token', `${message}, expires ${token!.expiresAt}`, 'Log in again: `platform login`.');
  if (organizations.length === 0)
    return warn(
      'token',
      `${message}, not a member of any organization`,
      'Create an organization: `platform org create <name>`.',
    );
  return ok('token', message);
}

async function checkGitHosts(api: Api): Promise<Finding[]> {
  const others = await checkTokenHosts(api);
  const application = await checkApplication(api);
  return others.length > 0 && application.every(({ status }) => status === 'ok') ? others : [...application, ...others];
}

/** Hosts that are used with access tokens. Status information is only visible to operators. */
async function checkTokenHosts(api: Api): Promise<Finding[]> {
  const findings: Finding[] = [];
  try {
    const { hosts } = await ask<{ hosts: readonly { id: string; name: string }[] }>(api, 'GET', '/git-hosts');
    for (const { id, name } of hosts) {
      const path = `/git-hosts/${encodeURIComponent(id)}/status`;
      const { problems } = await ask<{ problems: readonly string[] }>(api, 'GET', path);
      if (problems.length === 0) findings.push(ok('git host', `${name} has no known problem`));
      for (const problem of problems)
        findings.push(warn('git host', `${name}: ${problem}`, 'See docs/git-host.md: tokens, checks, status.'));
    }
    return findings;
  } catch (error) {
    return isNotForUs(error) ? [] : [warn('git host', messageOf(error), 'Check the log of the API process.')];
  }
}

/** Whether a check does not apply: the user lacks the permission, or an older platform lacks the route. */
function isNotForUs(error: unknown): boolean {
  return error instanceof CliError && ['not_found', 'forbidden', 'not_available'].includes(error.code ?? '');
}

async function checkApplication(api: Api): Promise<Finding[]> {
  let status: GitHostStatus;
  try {
    status = await ask<GitHostStatus>(api, 'GET', '/git-host/status');
  } catch (error) {
    return isNotForUs(error) ? [] : [warn('git host', messageOf(error), 'Check GITHOST_* of the platform.')];
  }
  if (!status.isConfigured)
    return [ok('git host', 'Not configured: deploy with `platform deploy` or `git push platform`')];
  if (status.problem !== null) return [fail('git host', status.problem, 'Check GITHOST_* of the platform.')];
  if (status.missing.length === 0) return [ok('git host', 'The app has the required permissions')];
  const advice = "Grant the permission in the app's settings on the Git host, and accept it for each installation.";
  return status.missing.map(({ name, isRequired, without }) =>
    (isRequired ? fail : warn)('git host', `The app lacks the permission ${name}: ${without}`, advice),
  );
}

/** Signs in at the mail server; only for operators. */
async function checkMail(api: Api): Promise<Finding[]> {
  try {
    const { server, isChecked } = await ask<{ server: string; isChecked: boolean }>(
      api,
      'POST',
      '/operator/mail/check',
    );
    return [ok('mail', isChecked ? `${server} accepts the platform` : `Emails are posted to ${server}: not checked`)];
  } catch (error) {
    const code = error instanceof CliError ? error.code : undefined;
    if (code === 'not_available') return [ok('mail', 'No mail is set up')];
    if (code === 'not_found' || code === 'forbidden') return [];
    return [fail('mail', messageOf(error), 'Check AUTH_MAIL_URL of the platform.')];
  }
}

function messageOf(error: unknown): string {
  return (error as Error).message;
}
