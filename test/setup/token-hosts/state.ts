// What the token hosts of tests hold, and what a kind of host adds to it. Types only.

/** A webhook of a repository, as the host keeps it. */
export interface HostedWebhook {
  readonly id: number;
  url: string;
  secret: string;
  isActive: boolean;
  events: readonly string[];
}

/** A repository there. */
export interface TokenRepository {
  readonly id: number;
  /** `owner/name`; a test that renames it changes it. */
  fullName: string;
  /** The bare repository. */
  readonly folder: string;
  defaultBranch: string;
  isArchived: boolean;
  /** Logins that administer it. */
  readonly admins: Set<string>;
  /** Other logins that may push; everybody else does not see it. */
  readonly writers: Set<string>;
  readonly hooks: HostedWebhook[];
  readonly statuses: { readonly sha: string; readonly state: string; readonly [field: string]: unknown }[];
  readonly comments: { readonly id: number; readonly number: number; readonly login: string; body: string }[];
}

/** A token that the host gave out. */
interface TokenOfHost {
  readonly login: string;
  readonly scopes: readonly string[];
  isExpired: boolean;
}

/** How a kind of host does OAuth. */
export interface OAuthDialect {
  readonly authorize: string;
  readonly token: string;
  readonly revoke: string | null;
  readonly isBasic: boolean;
  /** Hosts without PKCE ignore it. */
  readonly hasPkce: boolean;
}

/** The platform's OAuth application there. */
export interface OAuthOfHost {
  clientId: string;
  clientSecret: string;
  /** The registered one; null: any. */
  redirectUrl: string | null;
  /** Who is signed in in the browser; null: the person refuses. */
  signedIn: string | null;
  lifetimeSeconds: number;
  readonly codes: Map<string, { readonly login: string; readonly challenge: string; readonly redirectUrl: string }>;
  readonly grants: { readonly login: string; access: string; refresh: string; earlier: string[]; isRevoked: boolean }[];
  /** Paths of its requests, with the kind of grant. */
  readonly requests: string[];
}

/** What a test's host holds; tests may change it. */
export interface TokenHostState {
  readonly root: string;
  readonly repositories: TokenRepository[];
  readonly tokens: Map<string, TokenOfHost>;
  readonly oauth: OAuthOfHost;
  readonly logins: string[];
  /** Requests of the REST API, as `GET /user`. */
  readonly requests: string[];
  /** Statuses with which the next requests of the REST API fail. */
  readonly failures: number[];
  /** Sends a webhook. */
  send: (url: string, init: { readonly headers: Record<string, string>; readonly body: string }) => Promise<Response>;
  lastId: number;
}

/** A request to the REST API. */
export interface ApiRequest {
  /** Such as `GET /user`, without its query. */
  readonly place: string;
  readonly query: URLSearchParams;
  readonly body: Record<string, unknown>;
  readonly token: TokenOfHost;
}

/** A pull request, as tests describe it. */
export interface PullRequestOfTest {
  readonly action: 'opened' | 'updated' | 'closed';
  readonly number: number;
  readonly branch: string;
  readonly sha: string;
  readonly title: string;
  /** Whether its branch lies in another repository. */
  readonly isFork?: boolean;
}

/** An event in the host's words. Null: hosts of this kind do not send it. */
export interface EventOfHost {
  readonly event: string;
  readonly body: Record<string, unknown>;
}

/** What differs between kinds of hosts. */
export interface Dialect {
  /** Path of the REST API. */
  readonly api: string;
  /** Scopes of a token that may do everything. */
  readonly scopes: readonly string[];
  readonly oauth: OAuthDialect;
  /** Path of the URL under which the platform knows the host. */
  readonly path: string;
  tokenIn(authorization: string): string | null;
  /** The host's id of a repository, as the platform stores it. */
  hostId(repository: TokenRepository): string;
  /** @throws {Refused} */
  answer(state: TokenHostState, request: ApiRequest): [number, unknown];
  pushed(repository: TokenRepository, branch: string, before: string | null, after: string | null): EventOfHost | null;
  pullRequest(repository: TokenRepository, pullRequest: PullRequestOfTest): EventOfHost | null;
  headers(hook: HostedWebhook, event: string, body: string, id: string): Record<string, string>;
  /** Names of the events that a webhook must have to get these. */
  readonly events: { readonly push: string; readonly pullRequest: string; readonly deletion: string };
  /** The message of an error in the host's format. */
  error(status: number, message: string): unknown;
}

/** An answer that ends a request early. */
export class Refused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
