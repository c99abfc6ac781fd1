// Git hosts that are used with access tokens: their kinds, and how one is opened. The operator creates their records,
// in control.git_host. The API process and the builder open them the same way.
import { Failure, isFailure } from '#core/failure.ts';
import { unseal, type EncryptionKeys } from '#core/encryption.ts';
import { pathOf, type TokenAccess, type TokenHostKind } from './access.ts';
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
  /** As the operator calls it. */
  readonly name: string;
  /** URL of its pages and clones, without a slash at its end. */
  readonly url: string;
}

/** How a token is opened and which hosts may be private. */
interface TokenHostDeps {
  readonly keys: EncryptionKeys;
  /** `GIT_REMOTE_PRIVATE_HOSTS` */
  readonly privateHosts: readonly string[];
}

/** The encryption context of an account's token. */
export function accountContext(accountId: string): string {
  return `git-account:${accountId}`;
}

/** Opens an account of a host, whose token is stored encrypted. */
export function openAccount(
  deps: TokenHostDeps,
  host: TokenHost,
  account: { readonly id: string; readonly token: Uint8Array },
): TokenAccess {
  return openTokenHost(deps, host, unseal(deps.keys, account.token, accountContext(account.id)));
}

/** Opens a host with a token. Does not connect yet. */
export function openTokenHost(
  { privateHosts }: Pick<TokenHostDeps, 'privateHosts'>,
  { kind: name, name: called, url }: TokenHost,
  token: string,
): TokenAccess {
  const kind = tokenHostKinds[name];
  const options = {
    apiUrl: kind.apiUrlOf(url),
    who: hostTitle({ name: called, url }),
    urlName: 'the URL below the host',
    isPrivate: isPrivateHost(url, privateHosts),
  };
  return kind.open(
    async (request) => {
      try {
        return await askRest(options, request, kind.authorization(token));
      } catch (error) {
        if (!isFailure(error, 'git_host') || error.status !== 401) throw error;
        const message = `${options.who} refused the access token: it has expired or was revoked. Connect the account again with a new one`;
        throw new Failure('git_host', message, { reason: 'refused', status: 401 });
      }
    },
    token,
    url,
  );
}

/** Whether the operator allows private addresses and plain http for the host of a URL. */
export function isPrivateHost(url: string, privateHosts: readonly string[]): boolean {
  return privateHosts.includes(hostnameOf(url));
}

/** URL of a repository's page. With `.git` at its end, it can be cloned. */
export function repositoryUrl({ kind, url }: Pick<TokenHost, 'kind' | 'url'>, fullName: string): string {
  return `${tokenHostKinds[kind].repositoriesAt(url)}/${pathOf(fullName)}`;
}

/** The host name or address in a URL. */
export function hostnameOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}

/** A host in messages. @example hostTitle({ name: 'GitLab', url: 'https://gitlab.com' }) // 'GitLab (gitlab.com)' */
export function hostTitle({ name, url }: Pick<TokenHost, 'name' | 'url'>): string {
  return `${name} (${new URL(url).host})`;
}
