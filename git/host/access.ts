// The interface of Git hosts of all kinds. The drivers in kinds/ implement it, and one contract suite
// (test/contract/git-hosts.ts) tests all of them. Types, and the behavior that all drivers share.
import { isFailure } from '#core/failure.ts';
import type { Delivery } from './delivery.ts';
import type { HostRepository } from './repositories.ts';
import type { HostRequest } from './rest.ts';

/** A repository by the host's id, which stays when it is renamed, and by `owner/name`. */
export interface RepositoryRef {
  readonly id: string;
  readonly fullName: string;
}

/** The state of a deployment at its commit. */
export interface CommitStatus {
  readonly state: 'pending' | 'success' | 'failure' | 'error';
  /** At most 140 characters. */
  readonly description: string;
  /** Name of the status: a commit has one status for each name. */
  readonly context: string;
  readonly targetUrl: string;
}

/** The platform's comment on a pull request. */
export interface HostComment {
  /** The host's id, if it was written before. */
  readonly id: number | null;
  /** First line of the body, by which the comment is found if its id was lost. */
  readonly mark: string;
  readonly body: string;
}

/** Operations on a connected repository. All methods throw {@link Failure} `git_host`. */
export interface RepositoryAccess {
  /** Null if the repository does not exist, or the credentials may not see it. */
  readRepository(repository: RepositoryRef): Promise<HostRepository | null>;
  /** The commit of a branch, or null. */
  readHead(repository: RepositoryRef, branch: string): Promise<string | null>;
  /** Credentials for `git` over HTTP. */
  cloneCredential(repository: RepositoryRef): Promise<{ readonly username: string; readonly password: string }>;
  setStatus(repository: RepositoryRef, commit: string, status: CommitStatus): Promise<void>;
  /** Creates or edits the comment. @returns its id */
  writeComment(repository: RepositoryRef, number: number, comment: HostComment): Promise<number>;
}

/** The account that a token belongs to. */
interface HostAccount {
  readonly login: string;
  /** Expiry of the token; null if it does not expire, or the host does not report it. */
  readonly expiresAt: Date | null;
  /** Scopes that the token lacks. */
  readonly missing: readonly string[];
}

/** The webhook of one repository. */
export interface HostWebhook {
  readonly url: string;
  readonly secret: string;
}

/** Result for a webhook. */
export type WebhookState = 'created' | 'updated' | 'kept';

/** Operations with a token, as its account. */
export interface TokenAccess extends RepositoryAccess {
  readAccount(): Promise<HostAccount>;
  /** @param page from 1. */
  listRepositories(options: {
    readonly search: string;
    readonly page: number;
  }): Promise<{ readonly repositories: readonly HostRepository[]; readonly hasMore: boolean }>;
  /**
   * Creates the webhook, or repairs it. @param rewrite whether the webhook is written even if it looks right, since its
   * secret cannot be read.
   */
  ensureWebhook(repository: RepositoryRef, webhook: HostWebhook, rewrite: boolean): Promise<WebhookState>;
  removeWebhook(repository: RepositoryRef, url: string): Promise<void>;
}

/** How an OAuth application of a host is used: with a code, PKCE and a secret. */
export interface HostOAuth {
  /** URL before the paths below, of a host's URL. */
  readonly baseUrl: (url: string) => string;
  readonly authorizePath: string;
  readonly tokenPath: string;
  /** Null if the host cannot revoke grants of an application; people do this in their settings there. */
  readonly revokePath: string | null;
  /** Scopes separated by spaces; '' uses those of the application. */
  readonly scopes: string;
  /** URL at which the application proves its identity. */
  readonly clientAuth: 'body' | 'basic';
  /** The page on which people create the OAuth application. */
  readonly advice: string;
}

/** Parameters for opening an account. */
export interface OpenedWith {
  /** Sends a request with the token. */
  readonly ask: Ask;
  /** The current token. */
  readonly token: () => Promise<string>;
  /** URL of the host's pages, without a slash at its end. */
  readonly url: string;
  /** Whether the token belongs to an OAuth application, and was not created by a person. */
  readonly isGrant: boolean;
}

/** Sends a request with the token. */
export type Ask = (request: HostRequest) => Promise<unknown>;

/** A kind of Git host that is used with access tokens. */
export interface TokenHostKind {
  /** Name that people use. */
  readonly title: string;
  /** URL of the host if the operator sets none; null if the operator must set one. */
  readonly publicUrl: string | null;
  /** A text for people that says which URL to pass. */
  readonly urlAdvice: string;
  readonly apiUrlOf: (url: string) => string;
  /** The problem with a URL, or null. */
  readonly urlProblem?: (url: string) => string | null;
  /** Hint for people if its API is not found. */
  readonly absentAdvice?: string;
  /** Path of the API that responds without a token, or requires one. */
  readonly probe: (url: string) => string;
  /** URL below which repositories are, by `owner/name`. */
  readonly repositoriesAt: (url: string) => string;
  /** A text for people that says which token to create. */
  readonly tokenAdvice: string;
  /** The request header with the token. */
  readonly authorization: (token: string) => Readonly<Record<string, string>>;
  readonly open: (opened: OpenedWith) => TokenAccess;
  readonly oauth: HostOAuth;
  /** Header names of deliveries, in lower case. */
  readonly event: string;
  /** The first header that a delivery has identifies it. */
  readonly deliveryIds: readonly string[];
  /** `hmac`: HMAC-SHA256 of the body in hexadecimal digits, after the prefix; `token`: the secret itself. */
  readonly signature: { readonly header: string; readonly scheme: 'hmac' | 'token'; readonly prefix: string };
  /**
   * Parses a delivery.
   *
   * @param event the event that the header names. @returns undefined for deliveries to ignore.
   * @throws {Failure} `delivery_malformed`
   */
  readonly readDeliveries: (event: string, body: unknown) => readonly Delivery[];
}

/** The result of a request; null if the host answers "not found". */
export async function orNull<Result>(asked: Promise<Result>): Promise<Result | null> {
  try {
    return await asked;
  } catch (error) {
    if (isFailure(error, 'git_host') && error.status === 404) return null;
    throw error;
  }
}

/** How one host creates, edits and finds a comment. */
interface CommentCalls {
  /** Finds the platform's own comment. People can write the mark, too, but their comments cannot be edited. */
  find(): Promise<number | null>;
  edit(id: number): Promise<unknown>;
  create(): Promise<unknown>;
}

/** Edits the comment, or creates it if it does not exist (any more). @returns its id */
export async function keepComment(known: number | null, calls: CommentCalls): Promise<number> {
  const id = known ?? (await calls.find());
  if (id !== null)
    try {
      await calls.edit(id);
      return id;
    } catch (error) {
      if (!isFailure(error, 'git_host') || (error.status !== 404 && error.status !== 403)) throw error;
    }
  return ((await calls.create()) as { id: number }).id;
}

/** Each part of a branch name or of `owner/name`, encoded for use in a path. */
export function pathOf(name: string): string {
  return name.split('/').map(encodeURIComponent).join('/');
}
