// Managed sign-in: `auth` in platform.yaml.

/** A user who has signed up at the worker. */
export interface PlatformUser {
  readonly id: string;
  readonly email: string;
  readonly emailVerified: boolean;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly metadata: Record<string, unknown>;
}

/**
 * Managed sign-in (`auth` in platform.yaml), `env.PLATFORM_AUTH`. Signing up, in and out happens over HTTP under `/auth/`
 * of the worker's own host.
 */
export interface PlatformAuth {
  /** The user of a session token; null when the token is wrong, expired or revoked. */
  getUser(token: string): Promise<PlatformUser | null>;
  /** Whether a session token is good. */
  verifyToken(token: string): Promise<boolean>;
  /** The user of a request, by its session cookie or `Authorization: Bearer`; null when nobody is signed in. */
  getSession(request: Request): Promise<{ user: PlatformUser; token: string } | null>;
  /** Ends the session of a token. */
  revoke(token: string): Promise<void>;
}
