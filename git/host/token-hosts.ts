// Git hosts that are used with access tokens: their kinds, and how a host is opened with a token (grants.ts has the
// tokens of accounts). The operator creates their records, in control.git_host. Used by the API process and the
// builder.
import { Failure, isFailure } from '#core/failure.ts';
import { pathOf, type Ask, type TokenAccess, type TokenHostKind } from './access.ts';
import { bitbucket } from './kinds/bitbucket.ts';
import { forgejo, gitea } from './kinds/gitea.ts';
import { gitlab } from './kinds/gitlab.ts';
import { askRest } from './rest.ts';

export const tokenHostKinds = { gitlab, gitea, forgejo, bitbucket } as const satisfies Record<string, TokenHostKind>;

/** A kind of Git host that is used with access tokens. */
export type TokenHostKindName = keyof typeof tokenHostKinds;

/** The columns of control.git_host that a connection needs. */
export interface TokenHost {
  readonly id: string;
  readonly kind: TokenHostKindName;
  /** Name that the operator gave the host. */
  readonly name: string;
  /** URL of its pages and clones, without a slash at its end. */
  readonly url: string;
}

/** Which hosts may have private addresses. */
interface TokenHostDeps {
  /** `GIT_REMOTE_PRIVATE_HOSTS` */
  readonly privateHosts: readonly string[];
}

/**
 * Opens a host with a token. Does not connect yet.
 *
 * @param token returns the current token; called again with a token that the host has just refused.
 */
export function openTokenHost(
  { privateHosts }: TokenHostDeps,
  { kind: name, name: called, url }: Pick<TokenHost, 'kind' | 'name' | 'url'>,
  { token, isGrant }: { readonly token: (refused?: string) => Promise<string>; readonly isGrant: boolean },
): TokenAccess {
  const kind = tokenHostKinds[name];
  const options = {
    apiUrl: kind.apiUrlOf(url),
    who: hostTitle({ name: called, url }),
    urlName: 'the URL below the host',
    isPrivate: isPrivateHost(url, privateHosts),
  };
  const ask: Ask = async (request) => {
    let used = await token();
    for (let attempt = 1; ; attempt++)
      try {
        return await askRest(options, request, kind.authorization(used));
      } catch (error) {
        if (!isFailure(error, 'git_host') || error.status !== 401) throw error;
        if (isGrant && attempt === 1) {
          // The token may have been revoked, or have expired earlier than announced.
          used = await token(used);
          continue;
        }
        const what = isGrant ? 'access that it was given' : 'access token';
        const again = isGrant ? 'Connect the account again' : 'Connect the account again with a new token';
        const message = `${options.who} refused the ${what}: it has expired or was revoked. ${again}`;
        throw new Failure('git_host', message, { reason: 'refused', status: 401 });
      }
  };
  return kind.open({ ask, token: () => token(), url, isGrant });
}

/** Whether the operator allows private addresses and plain http for the host of a URL. */
export function isPrivateHost(url: string, privateHosts: readonly string[]): boolean {
  return privateHosts.includes(hostnameOf(url));
}

/** URL of a repository's page. With `.git` appended, git can clone the URL. */
export function repositoryUrl({ kind, url }: Pick<TokenHost, 'kind' | 'url'>, fullName: string): string {
  return `${tokenHostKinds[kind].repositoriesAt(url)}/${pathOf(fullName)}`;
}

/** The host name or address in a URL. */
export function hostnameOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}

/**
 * The name of a host in messages. @example hostTitle({ name: 'GitLab', url: 'https://gitlab.com' }) // 'GitLab
 * (gitlab.com)'
 */
export function hostTitle({ name, url }: Pick<TokenHost, 'name' | 'url'>): string {
  return `${name} (${new URL(url).host})`;
}
