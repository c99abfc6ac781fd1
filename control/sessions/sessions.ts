// Browser sessions: a random secret in a signed cookie, stored as its hash. Forged cookies fail the signature check
// before the store is queried. The secret is rotated once a day; a session expires after two weeks without use, and at
// the latest after ninety days.
import { createHmac, randomBytes } from 'node:crypto';
import { hashOf, isSame } from '../access/secrets.ts';
import type { SessionStore, StoredSession } from './session-store.ts';

/** An active session. */
export interface Session extends StoredSession {
  /** Identifies the session among the account's sessions; cannot be used to sign in. */
  readonly id: string;
}

/** The person who signs in, and the client. */
interface NewSession {
  readonly accountId: string;
  readonly userAgent: string | null;
  readonly address: string | null;
  /** The token used to sign in, or null. */
  readonly tokenId: string | null;
}

/** The sessions of an installation. */
export interface Sessions {
  /** @returns the cookie value. */
  open(person: NewSession): Promise<string>;
  /** The session of a cookie value; null if forged, unknown or expired. */
  find(value: string): Promise<Session | null>;
  /** A new cookie value, if one is due: once a day. The old value stays valid for a minute, for concurrent requests. */
  renew(value: string): Promise<string | null>;
  list(accountId: string): Promise<readonly Session[]>;
  end(value: string): Promise<void>;
  /** @returns whether the account had this session. */
  endOne(accountId: string, id: string): Promise<boolean>;
  endAll(accountId: string): Promise<void>;
  sweep(): Promise<void>;
  close(): Promise<void>;
}

const DAY_MS = 86_400_000;
/** Lifetime of the cookie and of an unused session. */
export const SESSION_MS = 14 * DAY_MS;
const SESSION_MS_MAX = 90 * DAY_MS;
const RENEW_MS = DAY_MS;
const GRACE_MS = 60_000;
const SECRET_BYTES = 32;
const USER_AGENT_CHARS_MAX = 200;

/** @param secret `AUTH_SECRET`; changing it ends all sessions. @param now the current time, for tests. */
export function createSessions(store: SessionStore, secret: string, now: () => Date = () => new Date()): Sessions {
  const signed = (text: string): string => `${text}.${signatureOf(secret, text)}`;
  const secretOf = (value: string): string | null => {
    const [, text, signature] = /^([\w-]{43})\.([\w-]{43})$/.exec(value) ?? [];
    if (text === undefined || signature === undefined) return null;
    return isSame(signature, signatureOf(secret, text)) ? text : null;
  };
  const find = async (value: string): Promise<(StoredSession & { readonly hash: Buffer }) | null> => {
    const text = secretOf(value);
    if (text === null) return null;
    const hash = hashOf(text);
    const session = await store.get(hash, now());
    return session === null ? null : { ...session, hash };
  };
  return {
    async open({ accountId, userAgent, address, tokenId }) {
      const text = randomBytes(SECRET_BYTES).toString('base64url');
      const at = now();
      await store.put(hashOf(text), {
        accountId,
        createdAt: at,
        expiresAt: new Date(at.getTime() + SESSION_MS),
        userAgent: userAgent?.slice(0, USER_AGENT_CHARS_MAX) ?? null,
        address,
        tokenId,
      });
      return signed(text);
    },
    async find(value) {
      const session = await find(value);
      return session === null ? null : toSession(session);
    },
    async renew(value) {
      const session = await find(value);
      if (session === null) return null;
      const at = now().getTime();
      // Another request has already rotated the cookie.
      if (session.expiresAt.getTime() - at <= GRACE_MS) return null;
      const expiresAt = new Date(Math.min(at + SESSION_MS, session.createdAt.getTime() + SESSION_MS_MAX));
      if (expiresAt.getTime() - session.expiresAt.getTime() < RENEW_MS) return null;
      const text = randomBytes(SECRET_BYTES).toString('base64url');
      const { hash, ...kept } = session;
      const next = { hash: hashOf(text), session: { ...kept, expiresAt } };
      const done = await store.replace(hash, session.expiresAt, new Date(at + GRACE_MS), next);
      return done ? signed(text) : null;
    },
    async list(accountId) {
      // List a rotated session once.
      const soon = new Date(now().getTime() + GRACE_MS);
      return (await store.list(accountId, soon)).map(toSession);
    },
    async end(value) {
      const text = secretOf(value);
      if (text !== null) await store.remove(hashOf(text));
    },
    async endOne(accountId, id) {
      const found = (await store.list(accountId, now())).find((session) => idOf(session.hash) === id);
      if (found !== undefined) await store.remove(found.hash);
      return found !== undefined;
    },
    endAll: (accountId) => store.removeAll(accountId),
    sweep: () => store.sweep(now()),
    close: () => store.close(),
  };
}

function toSession({ hash, ...session }: StoredSession & { readonly hash: Buffer }): Session {
  return { id: idOf(hash), ...session };
}

function idOf(hash: Buffer): string {
  return `ses_${hash.toString('hex').slice(0, 20)}`;
}

function signatureOf(secret: string, text: string): string {
  return createHmac('sha256', secret).update(`session:${text}`).digest('base64url');
}
