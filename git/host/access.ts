// The interface of Git hosts: types, and the behavior that all drivers share. The drivers in kinds/ implement it, and
// one contract suite (test/contract/git-hosts.ts) tests all of them.
import { isFailure } from '#core/failure.ts';
import type { Delivery } from './delivery.ts';
import type { HostRepository } from './repositories.ts';
import type { HostRequest } from './rest.ts';

/** Identifies a repository by the host's id, which stays the same after a rename, and by `owner/name`. */
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
  /** The comment's id on the host, if the comment was written before. */
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

/** What {@link TokenAccess.ensureWebhook} did with the webhook. */
export type WebhookState = 'created' | 'updated' | 'kept';

/** Operations with an access token, on behalf of its account. */
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
  /** Returns the base URL of the paths below, for the URL of a host. */
  readonly baseUrl: (url: string) => string;
  readonly authorizePath: string;
  readonly tokenPath: string;
  /** Null if the host has no API to revoke a grant: users do this in their settings on the host. */
  readonly revokePath: string | null;
  /** Scopes separated by spaces; '' uses the scopes of the application. */
  readonly scopes: string;
  /** Where requests contain the client secret: in the body, or in the Authorization header. */
  readonly clientAuth: 'body' | 'basic';
  /** Help text: where to create the OAuth application. */
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
  /** Display name, such as `GitLab`. */
  readonly title: string;
  /** Default URL of the host; null if the operator must set the URL. */
  readonly publicUrl: string | null;
  /** Help text: which URL to enter. */
  readonly urlAdvice: string;
  readonly apiUrlOf: (url: string) => string;
  /** The problem with a URL, or null. */
  readonly urlProblem?: (url: string) => string | null;
  /** Help text if the host's API is not found. */
  readonly absentAdvice?: string;
  /** Path of the API that exists on every such host, with which a connection is tested. */
  readonly probe: (url: string) => string;
  /** URL to which `owner/name` is appended for a repository. */
  readonly repositoriesAt: (url: string) => string;
  /** Help text: which token to create. */
  readonly tokenAdvice: string;
  /** The request header with the token. */
  readonly authorization: (token: string) => Readonly<Record<string, string>>;
  readonly open: (opened: OpenedWith) => TokenAccess;
  readonly oauth: HostOAuth;
  /** Header names of deliveries, in lower case. */
  readonly event: string;
  /** Headers with the id of a delivery; the first header that is present counts. */
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
  /**
   * Finds the platform's own comment. Other people's comments may also contain the mark, but the platform cannot edit
   * them.
   */
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
