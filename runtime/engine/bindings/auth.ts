// The host half of the auth binding (`auth` in platform.yaml): users and sessions of a project's app. Sign-in over
// HTTP is in runtime/engine/auth/routes.ts; both use the same users.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { UserSession } from '#core/resource-call/users.ts';
import type { HostCall, HostFunction } from '../bridge/host-calls.ts';
import { invalid, toName, toRecord, toWhole } from './arguments.ts';

/** A user, as workers and clients see it. */
export interface AuthUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly emailVerified: boolean;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Users of apps. Every call concerns one namespace. */
export interface AuthStore {
  /** The user of a session that is neither expired nor revoked. */
  getUser(namespace: string, token: string): Promise<AuthUser | null>;
  /** The session in the headers of a request, as a cookie or `Bearer`. */
  getSession(
    namespace: string,
    headers: { readonly cookie: string; readonly authorization: string },
  ): Promise<{ user: AuthUser; token: string } | null>;
  /** @throws {PlatformError} `invalid_argument`, `conflict` when the address is taken. */
  createUser(
    namespace: string,
    user: {
      readonly email: string;
      readonly password: string | null;
      readonly name: string;
      readonly emailVerified: boolean;
      readonly metadata: string;
    },
  ): Promise<AuthUser>;
  /** Users by creation time, newest first. */
  listUsers(
    namespace: string,
    page: { readonly limit: number; readonly offset: number; readonly email: string | null },
  ): Promise<AuthUser[]>;
  /** Revokes a session permanently. */
  revoke(namespace: string, token: string): Promise<void>;
  /** Active sessions of a user, without their tokens. */
  listSessions(namespace: string, userId: string): Promise<UserSession[]>;
  /** Revokes a session of a user by its id. */
  endSession(namespace: string, userId: string, id: string): Promise<void>;
  /** Sign-in methods of a user: `credential` (a password), or names of providers. */
  signInMethods(namespace: string, userId: string): Promise<string[]>;
  /** Removes a user with all sessions. */
  deleteUser(namespace: string, id: string): Promise<void>;
}

/**
 * Name of the database of a namespace's users, which no platform.yaml can declare, and no preview uses
 * (core/preview.ts).
 */
export const usersResource = 'auth~users';

/** Limit for the JSON of a user's custom fields. */
export const METADATA_BYTES_MAX = 4096;
const TOKEN_BYTES_MAX = 4096;
const PAGE_MAX = 1000;

/** Owner of the current call, which is charged for passwords and statements. */
export const callOfUsers = new AsyncLocalStorage<HostCall>();

/** The calls of a deployment's auth binding. */
export function createAuthCalls(namespace: string, store: AuthStore): Readonly<Record<string, HostFunction>> {
  const parse = (call: HostCall): Readonly<Record<string, unknown>> => {
    call.owner.countSubrequest();
    return toRecord(call.args);
  };
  const toToken = (value: unknown): string | null =>
    typeof value === 'string' && value !== '' && value.length <= TOKEN_BYTES_MAX ? value : null;

  const calls: Readonly<Record<string, HostFunction>> = {
    /** Takes `{token}`; returns the user, or null, also for a malformed token. */
    async 'auth.getUser'(call) {
      const token = toToken(parse(call)['token']);
      return { value: token === null ? null : await store.getUser(namespace, token) };
    },
    async 'auth.getSession'(call) {
      const { cookie, authorization } = parse(call);
      const headers = { cookie: toToken(cookie) ?? '', authorization: toToken(authorization) ?? '' };
      return {
        value:
          headers.cookie === '' && headers.authorization === '' ? null : await store.getSession(namespace, headers),
      };
    },
    async 'auth.createUser'(call) {
      const { email, password, name, emailVerified, metadata } = parse(call);
      if (
        password !== undefined &&
        password !== null &&
        (typeof password !== 'string' || password.length < 8 || password.length > 128)
      )
        throw invalid('password must be a text of 8 to 128 characters');
      const address = toName(email, 'email', 254);
      const user = {
        email: address,
        password: password ?? null,
        name: name === undefined || name === null || name === '' ? '' : toName(name, 'name', 256),
        emailVerified: emailVerified === true,
        metadata: toMetadata(metadata),
      };
      return { value: await store.createUser(namespace, user) };
    },
    /** `{limit, cursor, email}` -> `{users, cursor}`. */
    async 'auth.listUsers'(call) {
      const { limit, cursor, email } = parse(call);
      const most = toWhole(limit, 'limit', { least: 1, most: PAGE_MAX, otherwise: 100 });
      const text = cursor === undefined || cursor === null ? '0' : cursor;
      if (typeof text !== 'string' || !/^\d{1,12}$/.test(text)) throw invalid('The cursor is not valid');
      const offset = Number(text);
      const users = await store.listUsers(namespace, {
        limit: most + 1,
        offset,
        email: email === undefined || email === null ? null : toName(email, 'email', 254),
      });
      const more = users.length > most;
      return { value: { users: users.slice(0, most), cursor: more ? String(offset + most) : null } };
    },
    async 'auth.revoke'(call) {
      const token = toToken(parse(call)['token']);
      if (token !== null) await store.revoke(namespace, token);
      return {};
    },
    async 'auth.deleteUser'(call) {
      await store.deleteUser(namespace, toName(parse(call)['id'], 'id', 128));
      return {};
    },
  };
  return Object.fromEntries(
    Object.entries(calls).map(([name, handler]) => [
      name,
      (call: HostCall) => callOfUsers.run(call, () => handler(call)),
    ]),
  );
}

/** JSON of an app's custom fields of a user. @throws {PlatformError} `invalid_argument`. */
function toMetadata(value: unknown): string {
  const text = JSON.stringify(value === undefined || value === null ? {} : toRecord(value));
  if (Buffer.byteLength(text) > METADATA_BYTES_MAX)
    throw invalid(`metadata has ${Buffer.byteLength(text)} bytes as JSON, and may have ${METADATA_BYTES_MAX}`);
  return text;
}
