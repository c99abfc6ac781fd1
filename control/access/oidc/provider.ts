// An OpenID Connect provider as the rest of the control plane sees it. client.ts implements it with a library; sign-in
// uses it. Types only.

/** Roles that a group can give. An organization has one owner, whom no group appoints. */
export type GroupRole = 'admin' | 'member' | 'viewer';

/** A group at the provider, and the role of its members here. */
export interface GroupRule {
  readonly group: string;
  /** Slug of the organization. */
  readonly organization: string;
  readonly role: GroupRole;
}

/** Settings of a provider: `OIDC_*`. */
export interface OidcSettings {
  /** `OIDC_ISSUER`, normalized. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** `OIDC_NAME`: label of the sign-in button. */
  readonly name: string;
  /** `OIDC_SCOPES`, with spaces between. */
  readonly scopes: string;
  /** `OIDC_DOMAINS`: domains of email addresses, in lower case. If empty, any person may sign in. */
  readonly domains: readonly string[];
  /** `OIDC_GROUPS_CLAIM`. */
  readonly groupsClaim: string;
  /** `OIDC_GROUPS`. If empty, groups give no roles. */
  readonly groups: readonly GroupRule[];
}

/** A person, as the provider describes them. Only issuer and subject identify a person. */
export interface OidcPerson {
  readonly issuer: string;
  /** Identifies the person at the provider; never changes, and belongs to no other person. */
  readonly subject: string;
  /** `preferred_username`; null without one. */
  readonly username: string | null;
  /** '' without one. */
  readonly name: string;
  readonly email: string | null;
  /** Whether the provider vouches for the address. */
  readonly isEmailVerified: boolean;
  readonly avatarUrl: string | null;
  readonly groups: readonly string[];
}

/** Where a sign-in returns to, and its state, which can be used once. */
interface OidcFlow {
  /** Address of the platform that the provider redirects to, without a query. */
  readonly callback: string;
  readonly state: string;
}

/** A provider with which people can sign in. */
export interface OidcProvider {
  readonly settings: OidcSettings;
  /** The URL to sign in at. @throws {Failure} `oidc_refused` */
  authorizeUrl(flow: OidcFlow): Promise<string>;
  /** The person who returned with this query. @throws {Failure} `oidc_refused` */
  personOf(flow: OidcFlow, query: URLSearchParams): Promise<OidcPerson>;
}
