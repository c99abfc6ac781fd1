// What `platform doctor` asks of the platform that commands are for: whether it answers, what the token may do, and
// what its Git host does not let it do.
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

/** Asks it; one that does not answer is one finding. */
export async function checkApi(api: Api): Promise<Finding[]> {
  try {
    await ask(api, 'GET', '/health');
  } catch (error) {
    return [
      fail(
        'api',
        `${api.origin}: ${messageOf(error)}`,
        'Start it (`npm start` in its clone), or name another one with --api.',
      ),
    ];
  }
  const answers = ok('api', `${api.origin} answers`);
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
    return warn('token', `${message}, expires ${token!.expiresAt}`, 'Log in again soon: `platform login`.');
  if (organizations.length === 0)
    return warn('token', `${message} is in no organization`, 'Make one: `platform org create <name>`.');
  return ok('token', message);
}

async function checkGitHost(api: Api): Promise<Finding[]> {
  let status: GitHostStatus;
  try {
    status = await ask<GitHostStatus>(api, 'GET', '/git-host/status');
  } catch (error) {
    // A viewer may not ask, and an older platform cannot be asked.
    const isKnown = error instanceof CliError && ['not_found', 'forbidden', 'not_available'].includes(error.code ?? '');
    return isKnown ? [] : [warn('git host', messageOf(error), 'Look at GITHOST_* of the platform.')];
  }
  if (!status.isConfigured)
    return [ok('git host', 'None is set up: projects deploy by `platform deploy` and by `git push platform`')];
  if (status.problem !== null) return [fail('git host', status.problem, 'Look at GITHOST_* of the platform.')];
  if (status.missing.length === 0) return [ok('git host', 'The app has the permissions it takes')];
  const advice = "Grant it in the app's settings on the Git host, and accept it for each installation.";
  return status.missing.map(({ name, isRequired, without }) =>
    (isRequired ? fail : warn)('git host', `The app may not ${name}: ${without}`, advice),
  );
}

function messageOf(error: unknown): string {
  return (error as Error).message;
}
