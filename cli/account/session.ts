// Implements `login`, `logout` and `whoami`, also for `platform auth`.
import { text } from 'node:stream/consumers';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import { dataOf, openApi, originOf } from './api.ts';
import { hasBrowser, openPage } from './browser.ts';
import { credentialsFile, readLogins, removeLogin, saveLogin } from './credentials.ts';
import { loginInBrowser, loginWithCode, loginWithToken } from './login.ts';
import { localApis } from '../local/local-platform.ts';

/** Flags of a login. */
interface LoginFlags {
  readonly api?: string | undefined;
  /** False means a device code instead of the local browser. */
  readonly browser?: boolean | undefined;
  /** The token is read from standard input. */
  readonly token?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Logs in and makes the platform the default. */
export async function login(shell: Shell, { api, browser, token, json }: LoginFlags): Promise<void> {
  const origin = await originFor(shell, api);
  if (origin.startsWith('http:') && !/^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::|\/|$)/.test(origin))
    shell.err(`${shell.paint('yellow', 'warning')} ${origin} is plain HTTP: the token can be intercepted`);
  const credentials =
    token === true
      ? await loginWithToken(origin, (await text(process.stdin)).trim())
      : browser === false || !hasBrowser(shell)
        ? await loginWithCode(origin, (page, code, whole) => {
            shell.err(
              `Open ${shell.paint('cyan', page)} in any browser and enter the code ${shell.paint('bold', code)}`,
            );
            shell.err(shell.paint('dim', `or open ${whole}`));
          })
        : await loginInBrowser(origin, (url) => {
            shell.err(`Log in with your browser. If none opens: ${url}`);
            openPage(shell, url);
          });
  saveLogin(shell, origin, credentials);
  if (json === true) {
    shell.out(JSON.stringify({ api: origin, login: credentials.login, expiresAt: credentials.expiresAt }));
    return;
  }
  shell.out(`${shell.paint('green', 'Logged in')} to ${origin} as ${shell.paint('bold', credentials.login)}`);
  shell.out(shell.paint('dim', `  stored in ${credentialsFile(shell)}`));
  if (shell.env['PLATFORM_API_TOKEN'])
    shell.err(`${shell.paint('yellow', 'warning')} PLATFORM_API_TOKEN is set and overrides this login`);
}

/** Deletes a login from this machine. The token keeps working until it expires or is revoked. */
export async function logout(
  shell: Shell,
  {
    api,
    json,
    all,
  }: { readonly api?: string | undefined; readonly json?: boolean | undefined; readonly all?: boolean | undefined },
): Promise<void> {
  const { current, platforms } = readLogins(shell);
  const one =
    api === undefined
      ? shell.env['PLATFORM_API_URL']
        ? originOf(shell.env['PLATFORM_API_URL'])
        : current
      : originOf(api);
  const origins = all === true ? Object.keys(platforms) : one === null ? [] : [one];
  const done: string[] = [];
  for (const origin of origins) if (removeLogin(shell, origin) !== null) done.push(origin);
  if (json === true) shell.out(JSON.stringify({ loggedOut: done }));
  else if (done.length === 0) shell.out(one === null ? 'You are not logged in' : `You are not logged in to ${one}`);
  else
    for (const origin of done) {
      const until = platforms[origin]?.expiresAt ?? null;
      const end = until === null ? 'until you revoke it' : `until ${until}`;
      shell.out(`${shell.paint('green', 'Logged out')} of ${origin}`);
      shell.out(shell.paint('dim', `  the token stays valid ${end}: platform tokens revoke`));
    }
}

/** Prints the user's identity on the chosen platform. */
export async function whoami(
  shell: Shell,
  { api, json }: { readonly api?: string | undefined; readonly json?: boolean | undefined },
): Promise<void> {
  const { client, origin, source } = await openApi(shell, { api });
  const user = dataOf(await client.get('/user'));
  if (json === true) {
    shell.out(JSON.stringify({ api: origin, source, ...user }));
    return;
  }
  shell.out(`${shell.paint('bold', user.login)} on ${origin}`);
  for (const { name, role } of user.organizations) shell.out(`  ${role} of ${name}`);
  const from = {
    variable: 'PLATFORM_API_TOKEN',
    login: credentialsFile(shell),
    machine: 'the platform of this machine',
  };
  const until = user.token?.expiresAt == null ? '' : `, until ${user.token.expiresAt}`;
  shell.out(shell.paint('dim', `  token from ${from[source]}${until}`));
}

/** URL to log in to: given, else the last login, else this machine. */
async function originFor(shell: Shell, api: string | undefined): Promise<string> {
  const named = api ?? (shell.env['PLATFORM_API_URL'] || undefined);
  if (named !== undefined) return originOf(named);
  const { current } = readLogins(shell);
  if (current !== null) return current;
  const [machine, ...more] = await localApis(shell);
  if (machine !== undefined && more.length === 0) return machine.origin;
  throw new CliError('Log in to which platform?', {
    exitCode: 2,
    advice: 'Pass the URL of its API: `platform login --api https://api.example.com`.',
  });
}
