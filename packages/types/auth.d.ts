// Managed sign-in, which `auth` in platform.yaml enables.

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
 * Managed sign-in (`auth` in platform.yaml), `env.PLATFORM_AUTH`. Sign-up, sign-in and sign-out are HTTP routes under
 * `/auth/` of the worker's own host.
 */
export interface PlatformAuth {
  /** The user of a session token; null when the token is wrong, expired or revoked. */
  getUser(token: string): Promise<PlatformUser | null>;
  /** Whether a session token is valid. */
  verifyToken(token: string): Promise<boolean>;
  /** The user of a request, by its session cookie or `Authorization: Bearer`; null if not signed in. */
  getSession(request: Request): Promise<{ user: PlatformUser; token: string } | null>;
  /**
   * Creates a user without signing in; without a password, the user signs in through a provider or after a reset.
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
  /** Users, newest first, at most 1,000 per page; with `email` only the user with that address. */
  listUsers(options?: {
    limit?: number;
    cursor?: string;
    email?: string;
  }): Promise<{ users: PlatformUser[]; cursor: string | null }>;
  /** Revokes the session of a token, everywhere and immediately. */
  revoke(token: string): Promise<void>;
  /** Deletes a user with all sessions; deleting a missing user is not an error. */
  deleteUser(id: string): Promise<void>;
}
