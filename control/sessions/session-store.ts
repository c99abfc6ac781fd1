// Where sessions are: one interface, two stores (Postgres; Redis where CACHE_URL is set), one contract suite. A store
// knows the hash of a session's secret, never the secret. sessions.ts decides everything else.

/** A session as it is kept. */
export interface StoredSession {
  readonly accountId: string;
  /** When the person signed in; stays when the secret changes. */
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly userAgent: string | null;
  readonly address: string | null;
  /** The token that opened the session, which ends with it; null: none. */
  readonly tokenId: string | null;
}

/** Keeps sessions by the SHA-256 of their secret. */
export interface SessionStore {
  put(hash: Buffer, session: StoredSession): Promise<void>;
  /** Null when there is none, or it has expired. */
  get(hash: Buffer, now: Date): Promise<StoredSession | null>;
  /**
   * Puts a session in the place of another, which then expires at `graceUntil`. Of several callers that have seen the
   * same `expiresAt`, one succeeds.
   */
  replace(
    hash: Buffer,
    seenExpiresAt: Date,
    graceUntil: Date,
    next: { readonly hash: Buffer; readonly session: StoredSession },
  ): Promise<boolean>;
  /** Those of an account that have not expired, the newest first. */
  list(accountId: string, now: Date): Promise<readonly (StoredSession & { readonly hash: Buffer })[]>;
  remove(hash: Buffer): Promise<void>;
  removeAll(accountId: string): Promise<void>;
  /** Forgets what has expired, where the store does not by itself. */
  sweep(now: Date): Promise<void>;
  close(): Promise<void>;
}
