// Managed sign-in: `auth` in platform.yaml.

/** A user who has signed up at the worker. */
export interface PlatformUser {
  readonly id: string;
  /** In lower case. */
  readonly email: string;
  /** May be empty. */
  readonly name: string;
  readonly emailVerified: boolean;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly metadata: Record<string, unknown>;
}

/**
 * Managed sign-in (`auth` in platform.yaml), `env.PLATFORM_AUTH`. Signing up, in and out happens over HTTP under
 * `/auth/` of the worker's own host.
 */
export interface PlatformAuth {
  /** The user of a session token; null when the token is wrong, expired or revoked. */
  getUser(token: string): Promise<PlatformUser | null>;
  /** Whether a session token is good. */
  verifyToken(token: string): Promise<boolean>;
  /** The user of a request, by its session cookie or `Authorization: Bearer`; null when nobody is signed in. */
  getSession(request: Request): Promise<{ user: PlatformUser; token: string } | null>;
  /**
   * Makes a user without signing anybody in; without a password, sign-in is by a provider or after a reset.
   *
   * @throws when the address is taken (`code` is `conflict`) or a field is not valid.
   */
  createUser(user: {
    email: string;
    /** 8 to 128 characters. */
    password?: string;
    name?: string;
    emailVerified?: boolean;
    /** JSON of at most 4,096 bytes. */
    metadata?: Record<string, unknown>;
  }): Promise<PlatformUser>;
  /** Users, the newest first, at most 1,000 a page; with `email` the one who has it. */
  listUsers(options?: {
    limit?: number;
    cursor?: string;
    email?: string;
  }): Promise<{ users: PlatformUser[]; cursor: string | null }>;
  /** Ends the session of a token, everywhere and at once. */
  revoke(token: string): Promise<void>;
  /** Removes a user with all sessions; removing one who is not there is no error. */
  deleteUser(id: string): Promise<void>;
}
