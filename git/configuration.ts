// The variables that configure the Git host and the remotes with private addresses. Used by the API process and the
// builder. Pure.
import { githubApiUrl } from './host/application.ts';
import { openGitHost, type GitHost } from './host/connection.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The parsed variables. */
export interface GitConfiguration {
  /** Null means `GITHOST_APP_ID` and `GITHOST_APP_PRIVATE_KEY` are not set. */
  readonly gitHost: GitHost | null;
  /** `GITHOST_WEBHOOK_SECRET`; null means that it is not set, so webhook deliveries are refused. */
  readonly webhookSecret: string | null;
  /** `GIT_REMOTE_PRIVATE_HOSTS`: hosts of remotes that may have private addresses. */
  readonly privateHosts: readonly string[];
}

const SECRET_CHARS_MIN = 16;

/**
 * Parses the variables.
 *
 * @throws {Error} naming the variable and the fix, never its value.
 */
export function gitConfigurationFrom(environment: Environment): GitConfiguration {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const appId = get('GITHOST_APP_ID');
  const privateKey = get('GITHOST_APP_PRIVATE_KEY');
  if ((appId === '') !== (privateKey === ''))
    throw new Error('GITHOST_APP_ID and GITHOST_APP_PRIVATE_KEY belong together: set both or none');
  const secret = get('GITHOST_WEBHOOK_SECRET');
  if (secret !== '' && secret.length < SECRET_CHARS_MIN)
    throw new Error(
      'GITHOST_WEBHOOK_SECRET is too short: generate one with `openssl rand -hex 32`, and set it here and at the Git host',
    );
  const url = originOf('GITHOST_URL', get('GITHOST_URL') || 'https://github.com');
  const apiUrl = originOf('GITHOST_API_URL', get('GITHOST_API_URL') || githubApiUrl(url));
  return {
    gitHost: appId === '' ? null : openGitHost({ url, apiUrl, appId, privateKey }),
    webhookSecret: secret === '' ? null : secret,
    privateHosts: get('GIT_REMOTE_PRIVATE_HOSTS')
      .split(/[\s,]+/)
      .filter((host) => host !== '')
      .map((host) => host.toLowerCase()),
  };
}

function originOf(name: string, text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '')
    throw new Error(`${name} must be a URL such as https://git.example, but is "${text}"`);
  return url.href.replace(/\/+$/, '');
}
