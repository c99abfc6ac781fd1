// The users of apps, which better-auth stores in one database per project (`auth~users`, a name that no platform.yaml
// can declare). Created once per engine; handler.ts passes it to the binding and to routes.ts.
import { PlatformError } from '#core/errors.ts';
import type { AuthStore, AuthUser } from '../bindings/auth.ts';
import type { Auth } from './better-auth.ts';
import { providersOf, type AuthSite, type PasswordQueue, type UsersDeps } from './site.ts';
import { Sites } from './sites.ts';

/** Users of all projects. */
export interface Users extends AuthStore {
  /**
   * Minimum response time of routes that may send an email, because the time must not reveal whether the address
   * exists.
   */
  answersAfterMs(): Promise<number>;
  /** Answers a request below `/auth/` as better-auth does. */
  handle(site: AuthSite, request: Request): Promise<Response>;
  /** @param metadata JSON. No effect if the user does not exist. */
  setMetadata(namespace: string, id: string, metadata: string): Promise<void>;
}

/** Valid header values; a worker may pass any text. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Longer than it takes to hash a password and write a user. */
const MAIL_MS = 400;

/** Opens no site before a project's first call. */
export function createUsers(deps: UsersDeps): Users {
  const sites = new Sites<Promise<Auth>>();
  /** Namespaces whose tables exist. */
  const prepared = new Set<string>();
  const queues = new Map<string, PasswordQueue>();

  function queueOf(namespace: string): PasswordQueue {
    let queue = queues.get(namespace);
    if (queue === undefined) queues.set(namespace, (queue = { waiting: 0 }));
    return queue;
  }

  async function authOf(site: AuthSite): Promise<Auth> {
    const deliversMail = await deps.deliversMail();
    const key = JSON.stringify([
      deliversMail,
      site.namespace,
      site.origin,
      site.askedAt,
      providersOf(site.vars),
      site.vars['AUTH_REQUIRE_VERIFICATION'],
    ]);
    const isChosen = /:\d+$/.test(site.askedAt ?? '');
    const found = sites.get(site.namespace, key, isChosen, () => {
      const opening = import('./better-auth.ts').then(({ openAuth }) =>
        openAuth({ ...deps, deliversMail }, site, prepared, queueOf(site.namespace)),
      );
      // If opening fails, the next call tries again.
      opening.catch(() => sites.forget(site.namespace, key));
      return opening;
    });
    if (found === null)
      throw Object.assign(new Error('Too many addresses of this site were requested'), { status: 429 });
    return found;
  }

  // A context for calls that do not depend on a site.
  const ofNoSite = (namespace: string) =>
    authOf({ namespace, origin: `${deps.protocol}://internal.invalid`, vars: {} });
  const contextOf = async (namespace: string) => (await ofNoSite(namespace)).$context;

  return {
    answersAfterMs: async () => ((await deps.deliversMail()) ? MAIL_MS : 0),
    async handle(site, request) {
      try {
        return await (await authOf(site)).handler(request);
      } catch (error) {
        deps.log('error', `auth: ${(error as Error).message}`);
        throw error;
      }
    },
    async setMetadata(namespace, id, metadata) {
      await (await contextOf(namespace)).internalAdapter.updateUser(id, { metadata });
    },
    async getUser(namespace, token) {
      const found = await (await contextOf(namespace)).internalAdapter.findSession(token);
      return found === null || new Date(found.session.expiresAt) <= new Date() ? null : toUser(found.user);
    },
    async getSession(namespace, { cookie, authorization }) {
      const [, bearer] = /^Bearer\s+(\S+)$/i.exec(authorization) ?? [];
      // Requests without such a cookie do not read the database.
      const hasCookie = cookie.includes('session_token') && HEADER_VALUE.test(cookie);
      const token = bearer ?? (hasCookie ? await (await ofNoSite(namespace)).tokenOf(cookie) : null);
      const user = token === null ? null : await this.getUser(namespace, token);
      return user === null || token === null ? null : { user, token };
    },
    async createUser(namespace, { email, password, name, emailVerified, metadata }) {
      if (!/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email))
        throw new PlatformError('invalid_argument', { reason: 'email must be an e-mail address' });
      const context = await contextOf(namespace);
      const address = email.toLowerCase();
      if ((await context.internalAdapter.findUserByEmail(address)) !== null)
        throw new PlatformError('conflict', { reason: 'User already exists' });
      // The password is hashed first, because that takes CPU and may be refused.
      const hash = password === null ? null : await context.password.hash(password);
      const user = await context.internalAdapter.createUser(
        { email: address, name, emailVerified, metadata },
        { method: 'admin' },
      );
      if (hash !== null) {
        await context.internalAdapter.linkAccount({
          userId: user.id,
          providerId: 'credential',
          accountId: user.id,
          password: hash,
        });
      }
      return toUser(user);
    },
    async listUsers(namespace, { limit, offset, email }) {
      const { internalAdapter } = await contextOf(namespace);
      const where = email === null ? undefined : [{ field: 'email', value: email.toLowerCase() }];
      const users = await internalAdapter.listUsers(limit, offset, { field: 'createdAt', direction: 'desc' }, where);
      return users.map(toUser);
    },
    async revoke(namespace, token) {
      await (await contextOf(namespace)).internalAdapter.deleteSession(token);
    },
    async listSessions(namespace, userId) {
      const { internalAdapter } = await contextOf(namespace);
      const sessions = await internalAdapter.listSessions(userId);
      return sessions
        .filter(({ expiresAt }) => new Date(expiresAt) > new Date())
        .map(({ id, createdAt, expiresAt, ipAddress, userAgent }) => ({
          id,
          createdAt: new Date(createdAt).getTime(),
          expiresAt: new Date(expiresAt).getTime(),
          address: ipAddress || null,
          userAgent: userAgent || null,
        }));
    },
    async endSession(namespace, userId, id) {
      const { internalAdapter } = await contextOf(namespace);
      const found = (await internalAdapter.listSessions(userId)).find((session) => session.id === id);
      if (found !== undefined) await internalAdapter.deleteSession(found.token);
    },
    async signInMethods(namespace, userId) {
      const { internalAdapter } = await contextOf(namespace);
      return (await internalAdapter.findAccounts(userId)).map(({ providerId }) => providerId).toSorted();
    },
    async deleteUser(namespace, id) {
      const { internalAdapter } = await contextOf(namespace);
      await internalAdapter.deleteUserSessions(id);
      await internalAdapter.deleteUser(id);
    },
  };
}

/** The fields of a user that other folders see. */
export function toUser(user: object): AuthUser {
  const { id, email, name, emailVerified, createdAt, metadata } = user as Record<string, unknown>;
  return {
    id: String(id),
    email: String(email),
    name: String(name ?? ''),
    emailVerified: Boolean(emailVerified),
    createdAt: new Date(createdAt as string).toISOString(),
    metadata: toFields(metadata),
  };
}

function toFields(metadata: unknown): Record<string, unknown> {
  try {
    // Clients of better-auth's own routes may have stored any text.
    const fields: unknown = JSON.parse(String(metadata ?? '{}'));
    return fields === null || typeof fields !== 'object' || Array.isArray(fields)
      ? {}
      : (fields as Record<string, unknown>);
  } catch {
    return {};
  }
}
