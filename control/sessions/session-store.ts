// Session storage: one interface with two implementations (Postgres; Redis if CACHE_URL is set) and one contract test
// suite. A store only sees the hash of a session's secret. The other logic of sessions is in sessions.ts.

/** A stored session. */
export interface StoredSession {
  readonly accountId: string;
  /** When the person signed in; unchanged when the secret is rotated. */
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly userAgent: string | null;
  readonly address: string | null;
  /** The token used to sign in; the session ends when it is revoked. Null: none. */
  readonly tokenId: string | null;
}

/** Stores sessions by the SHA-256 of their secret. */
export interface SessionStore {
  put(hash: Buffer, session: StoredSession): Promise<void>;
  /** Null if the session does not exist or has expired. */
  get(hash: Buffer, now: Date): Promise<StoredSession | null>;
  /**
   * Replaces a session; the old session then expires at `graceUntil`. If several callers have seen the same
   * `expiresAt`, only one succeeds.
   */
  replace(
    hash: Buffer,
    seenExpiresAt: Date,
    graceUntil: Date,
    next: { readonly hash: Buffer; readonly session: StoredSession },
  ): Promise<boolean>;
  /** Active sessions of an account, the newest first. */
  list(accountId: string, now: Date): Promise<readonly (StoredSession & { readonly hash: Buffer })[]>;
  remove(hash: Buffer): Promise<void>;
  removeAll(accountId: string): Promise<void>;
  /** Deletes expired sessions, unless the store expires them itself. */
  sweep(now: Date): Promise<void>;
  close(): Promise<void>;
}
