// Client for the REST API of a Git host with GitHub's API. The client authenticates as the application (a signed
// token), as an installation (a token for one repository with minimal permissions), or as a person.
import { createPrivateKey, sign, type KeyObject } from 'node:crypto';
import { Failure } from '#core/failure.ts';
import { askRest, type HostRequest } from './rest.ts';

/** A Git host, and the platform's application there. */
interface GitHostOptions {
  /** URL of the REST API, `GITHOST_API_URL`: `https://api.github.com`. */
  readonly apiUrl: string;
  /** URL of its pages and clones, `GITHOST_URL`: `https://github.com`. */
  readonly url: string;
  /** `GITHOST_APP_ID`. */
  readonly appId: string;
  /** `GITHOST_APP_PRIVATE_KEY` in PEM; `\n` may replace line breaks. */
  readonly privateKey: string;
  /**
   * Whether the host's address may be private, and its URL plain http. Undefined if variables configure the host; then
   * any address is allowed.
   */
  readonly isPrivate?: boolean;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Request timeout in milliseconds, 10,000 by default. */
  readonly timeoutMs?: number;
  /** Delay before the second attempt in milliseconds, 250 by default; doubles with each attempt. */
  readonly pauseMs?: number;
}

/** Permissions of an installation token: `{contents: 'read'}`. */
export type Permissions = Readonly<Record<string, 'read' | 'write' | 'admin'>>;

/** A Git host client. */
export interface GitHost {
  readonly apiUrl: string;
  readonly url: string;
  /** As in {@link GitHostOptions}: whether the host may have a private address. */
  readonly isPrivate?: boolean;
  /** Sends a request as the application. */
  asApp(request: HostRequest): Promise<unknown>;
  /** Sends a request as an installation, with a token for one repository (by the host's id). */
  asInstallation(scope: InstallationScope, request: HostRequest): Promise<unknown>;
  /** Sends a request as the owner of a token. */
  asPerson(token: string, request: HostRequest): Promise<unknown>;
  /** A token of an installation for one repository; reused until five minutes before it expires. */
  installationToken(scope: InstallationScope): Promise<string>;
}

/** One repository of an installation, and the permissions needed. */
interface InstallationScope {
  readonly installationId: string;
  /** The host's id of the repository. */
  readonly repositoryId: string;
  readonly permissions: Permissions;
}

const TOKENS_MAX = 1000;
const TOKEN_SPARE_MS = 5 * 60_000;

/**
 * Creates a client for a Git host, without connecting yet.
 *
 * @throws {Error} when the private key is invalid.
 */
export function openGitHost(options: GitHostOptions): GitHost {
  const apiUrl = options.apiUrl.replace(/\/+$/, '');
  const now = options.now ?? Date.now;
  const key = readPrivateKey(options.privateKey);
  const tokens = new Map<string, { readonly value: Promise<string>; expiresAt: number }>();
  const ask = (request: HostRequest, authorization: string): Promise<unknown> =>
    askRest({ ...options, apiUrl }, request, { accept: 'application/vnd.github+json', authorization });
  const asApp = (request: HostRequest): Promise<unknown> => ask(request, appToken(options.appId, key, now()));

  async function mint(scope: InstallationScope, entry: { expiresAt: number }): Promise<string> {
    const answer = (await asApp({
      method: 'POST',
      path: `/app/installations/${encodeURIComponent(scope.installationId)}/access_tokens`,
      body: { repository_ids: [Number(scope.repositoryId)], permissions: scope.permissions },
      repeatable: true,
    })) as { token?: unknown; expires_at?: unknown } | null;
    if (typeof answer?.token !== 'string' || answer.token === '')
      throw new Failure('git_host', 'The Git host issued no token for the installation', {
        reason: 'refused',
        status: 200,
      });
    entry.expiresAt = Date.parse(String(answer.expires_at)) || now() + TOKEN_SPARE_MS;
    return answer.token;
  }

  function installationToken(scope: InstallationScope): Promise<string> {
    const name = JSON.stringify([scope.installationId, scope.repositoryId, Object.entries(scope.permissions).sort()]);
    const known = tokens.get(name);
    if (known !== undefined && known.expiresAt - TOKEN_SPARE_MS > now()) return known.value;
    for (const [other, { expiresAt }] of tokens)
      if (expiresAt <= now() || tokens.size >= TOKENS_MAX) tokens.delete(other);
    const entry = { expiresAt: Infinity };
    const value = mint(scope, entry);
    const stored = Object.assign(entry, { value });
    tokens.set(name, stored);
    value.catch(() => {
      if (tokens.get(name) === stored) tokens.delete(name);
    });
    return value;
  }

  async function asInstallation(scope: InstallationScope, request: HostRequest): Promise<unknown> {
    return ask(request, `Bearer ${await installationToken(scope)}`);
  }
  const asPerson = (token: string, request: HostRequest): Promise<unknown> => ask(request, `Bearer ${token}`);
  const { isPrivate } = options;
  const url = options.url.replace(/\/+$/, '');
  const host = { apiUrl, url, asApp, asInstallation, asPerson, installationToken };
  return isPrivate === undefined ? host : { ...host, isPrivate };
}

/** @throws {Error} naming the variable, never its value. */
function readPrivateKey(text: string): KeyObject {
  const pem = text.includes('-----BEGIN') ? text : Buffer.from(text, 'base64').toString();
  try {
    return createPrivateKey(pem.replaceAll('\\n', '\n'));
  } catch {
    throw new Error(
      'GITHOST_APP_PRIVATE_KEY is not a private key: set it to the PEM file of the application, with line breaks, with \\n, or in base64',
    );
  }
}

/** A JWT for the application: RS256, valid for ten minutes, issued a minute ago to tolerate clock skew. */
function appToken(appId: string, key: KeyObject, now: number): string {
  const seconds = Math.floor(now / 1000);
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'RS256', typ: 'JWT' })}.${part({ iat: seconds - 60, exp: seconds + 540, iss: appId })}`;
  return `Bearer ${text}.${sign('RSA-SHA256', Buffer.from(text), key).toString('base64url')}`;
}
