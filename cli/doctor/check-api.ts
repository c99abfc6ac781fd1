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
        'Start it (`npm start` in its clone), or choose another with --api.',
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
  return [answers, tokenOf(user), ...(await checkGitHost(api))];
}

function tokenOf({ login, token, organizations }: User): Finding {
  const scope = token?.scope === undefined ? '' : `, scope ${token.scope}`;
  const where = organizations.map(({ slug, name, role }) => `${role} of ${slug ?? name}`).join(', ');
  const message = `${login}${scope}${where === '' ? '' : `, ${where}`}`;
  const left = token?.expiresAt == null ? Infinity : Date.parse(token.expiresAt) - Date.now();
  if (left < SOON_MS)
    return warn('token', `${message}, expires ${token!.expiresAt}`, 'Log in again: `platform login`.');
  if (organizations.length === 0)
    return warn('token', `${message}, not a member of an organization`, 'Create one: `platform org create <name>`.');
  return ok('token', message);
}

async function checkGitHost(api: Api): Promise<Finding[]> {
  let status: GitHostStatus;
  try {
    status = await ask<GitHostStatus>(api, 'GET', '/git-host/status');
  } catch (error) {
    // Viewers lack the permission, older platforms the route.
    const isKnown = error instanceof CliError && ['not_found', 'forbidden', 'not_available'].includes(error.code ?? '');
    return isKnown ? [] : [warn('git host', messageOf(error), 'Check GITHOST_* of the platform.')];
  }
  if (!status.isConfigured)
    return [ok('git host', 'Not configured: deploy with `platform deploy` or `git push platform`')];
  if (status.problem !== null) return [fail('git host', status.problem, 'Check GITHOST_* of the platform.')];
  if (status.missing.length === 0) return [ok('git host', 'The app has the required permissions')];
  const advice = "Grant it in the app's settings on the Git host, and accept it for each installation.";
  return status.missing.map(({ name, isRequired, without }) =>
    (isRequired ? fail : warn)('git host', `The app lacks the permission ${name}: ${without}`, advice),
  );
}

function messageOf(error: unknown): string {
  return (error as Error).message;
}
