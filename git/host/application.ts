// The application of a Git host with GitHub's API that an operator has created in the dashboard: its manifest, the
// exchange of GitHub's code for its credentials, and its stored form. The API process and the builder read it the same
// way; variables override it.
import { createPrivateKey } from 'node:crypto';
import { unseal, type EncryptionKeys } from '#core/encryption.ts';
import { Failure, isFailure } from '#core/failure.ts';
import { settingContext } from '#core/variable-context.ts';
import type { Sql } from '#postgres/sql.ts';
import { answerFields, answerText } from './answers.ts';
import { openGitHost, type GitHost } from './connection.ts';
import { askRest } from './rest.ts';
import { hostnameOf, isPrivateHost } from './token-hosts.ts';

/** Credentials of the application, as stored encrypted. */
export interface Application {
  /** URL of the host's pages, without a slash at its end. */
  readonly url: string;
  readonly apiUrl: string;
  readonly appId: string;
  readonly slug: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly webhookSecret: string;
  /** PEM. */
  readonly privateKey: string;
}

/** Name of the application in control.setting. */
export const APPLICATION_SETTING = 'GITHOST_APP';
export const PUBLIC_GITHUB = 'https://github.com';

const FIELD_CHARS_MAX = 20_000;
const NAME_CHARS_MAX = 34;
/** Shorter secrets can be guessed. */
const SECRET_CHARS_MIN = 16;

/** Variables that describe an application: if one of them is set, the stored application is not used. */
const VARIABLES = ['GITHOST_APP_ID', 'GITHOST_APP_PRIVATE_KEY', 'GITHOST_CLIENT_ID', 'GITHOST_CLIENT_SECRET'];

/** The first variable of the environment that overrides a stored application, or null. */
export function overridingVariable(environment: Readonly<Record<string, string | undefined>>): string | null {
  return VARIABLES.find((name) => (environment[name]?.trim() ?? '') !== '') ?? null;
}

/** URL of the REST API below or beside the URL of a host with GitHub's API. */
export function githubApiUrl(url: string): string {
  if (url === PUBLIC_GITHUB) return 'https://api.github.com';
  const { protocol, hostname, pathname } = new URL(url);
  // GitHub Enterprise Cloud with data residency.
  if (/^[a-z0-9-]+\.ghe\.com$/.test(hostname) && pathname === '/') return `${protocol}//api.${hostname}`;
  return `${url}/api/v3`;
}

/** Permissions that the platform's application requests, in GitHub's terms. */
export function applicationManifest({
  api,
  ui,
  callback,
}: {
  readonly api: string;
  readonly ui: string;
  /** Path of the page to which GitHub returns with the code. */
  readonly callback: string;
}): Readonly<Record<string, unknown>> {
  return {
    name: `Platform ${new URL(ui).hostname}`.slice(0, NAME_CHARS_MAX).trim(),
    url: ui,
    hook_attributes: { url: `${api}/webhooks/git-host`, active: true },
    redirect_url: `${ui}${callback}`,
    callback_urls: [`${ui}/api/auth/callback/git-host`],
    setup_url: `${ui}/new?from=git-host`,
    public: false,
    default_permissions: { contents: 'read', metadata: 'read', statuses: 'write', pull_requests: 'write' },
    default_events: ['push', 'repository', 'pull_request', 'delete'],
  };
}

/**
 * The page of the host that creates an application from a manifest. @param organization name of the organization, or ''
 * for an application of the person's own account.
 */
export function manifestUrl(url: string, organization: string, state: string): string {
  const owner = organization === '' ? '' : `/organizations/${encodeURIComponent(organization)}`;
  return `${url}${owner}/settings/apps/new?${new URLSearchParams({ state })}`;
}

/**
 * Exchanges the code of a created application for its credentials. A code can be used once, for an hour.
 *
 * @throws {Failure} `git_host` whose message contains neither the code nor a credential.
 */
export async function exchangeManifestCode(
  url: string,
  code: string,
  privateHosts: readonly string[],
): Promise<Application> {
  const apiUrl = githubApiUrl(url);
  let answer: unknown;
  try {
    answer = await askRest(
      { apiUrl, isPrivate: isPrivateHost(url, privateHosts) },
      { method: 'POST', path: `/app-manifests/${encodeURIComponent(code)}/conversions` },
      { accept: 'application/vnd.github+json' },
    );
  } catch (error) {
    if (!isFailure(error, 'git_host')) throw error;
    const { reason, status } = error;
    // The path of the request has the code.
    const what = status === 404 ? 'does not know the code: it has expired or was used' : `answered ${status}`;
    const said = reason === 'unreachable' && status === 0 ? 'is not responding' : what;
    throw new Failure('git_host', `${hostnameOf(url)} ${said}`, { reason, status });
  }
  const fields = answerFields(answer);
  const read = (name: string): string => {
    const text = answerText(fields, name);
    if (text !== '' && text.length <= FIELD_CHARS_MAX) return text;
    throw malformed(url, name);
  };
  const application: Application = {
    url,
    apiUrl,
    appId: read('id'),
    slug: read('slug'),
    clientId: read('client_id'),
    clientSecret: read('client_secret'),
    webhookSecret: read('webhook_secret'),
    privateKey: read('pem'),
  };
  if (!/^\d{1,16}$/.test(application.appId)) throw malformed(url, 'id');
  if (!/^[\w.-]{1,100}$/.test(application.slug)) throw malformed(url, 'slug');
  if (application.webhookSecret.length < SECRET_CHARS_MIN) throw malformed(url, 'webhook_secret');
  try {
    createPrivateKey(application.privateKey);
  } catch {
    throw malformed(url, 'pem');
  }
  return application;
}

function malformed(url: string, name: string): Error {
  const message = `The application that ${hostnameOf(url)} has created has no valid "${name}"`;
  return new Failure('git_host', message, { reason: 'refused', status: 201 });
}

/** Parses the stored form. */
export function parseApplication(text: string): Application {
  return JSON.parse(text) as Application;
}

/** The stored application; null if there is none, or if no listed key can decrypt it. */
export async function readApplication(sql: Sql, keys: EncryptionKeys): Promise<Application | null> {
  const [row] = await sql<{ value: Uint8Array }[]>`
    SELECT value FROM control.setting WHERE name = ${APPLICATION_SETTING}`;
  if (row === undefined) return null;
  try {
    return parseApplication(unseal(keys, row.value, settingContext(APPLICATION_SETTING)));
  } catch {
    return null;
  }
}

/** A client for the host of a stored application. */
export function openApplication(application: Application, privateHosts: readonly string[]): GitHost {
  return openGitHost({ ...application, isPrivate: isPrivateHost(application.url, privateHosts) });
}
