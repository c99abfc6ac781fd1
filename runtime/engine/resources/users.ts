// Management operations on users of an app: accounts, sign-in methods, sessions. Tokens and password hashes never
// leave this process.
import { PlatformError } from '#core/errors.ts';
import type { AppUser } from '#core/resource-call/users.ts';
import { toName } from '../bindings/arguments.ts';
import type { AuthStore } from '../bindings/auth.ts';
import { apartNamespace, call, opened, type RequestScope, type OperationsOf } from './request-scope.ts';

export const userOperations: OperationsOf<'users'> = {
  async 'users.list'(scope) {
    const { limit, cursor, email } = declared(scope).args;
    const { value } = await call(scope, 'auth.listUsers', { limit: limit ?? 100, cursor, email });
    return value as { users: AppUser[]; cursor: string | null };
  },
  async 'users.create'(scope) {
    const { email, password, name, emailVerified, metadata } = declared(scope).args;
    const { value } = await call(scope, 'auth.createUser', { email, password, name, emailVerified, metadata });
    return { user: value as AppUser };
  },
  async 'users.delete'(scope) {
    await call(declared(scope), 'auth.deleteUser', { id: scope.args['id'] });
    return {};
  },
  async 'users.sessions'(scope) {
    const { store, namespace, id } = user(scope);
    return { sessions: await store.listSessions(namespace, id), methods: await store.signInMethods(namespace, id) };
  },
  async 'users.end-session'(scope) {
    const { store, namespace, id } = user(scope);
    await store.endSession(namespace, id, toName(scope.args['session'], 'session', 128));
    return {};
  },
  async 'users.settings'(scope) {
    const { vars } = declared(scope).route;
    const providers = Object.keys(vars).flatMap((name) => {
      const [, provider] = /^AUTH_([A-Z]+)_CLIENT_ID$/.exec(name) ?? [];
      return provider !== undefined && Object.hasOwn(vars, `AUTH_${provider}_CLIENT_SECRET`)
        ? [provider.toLowerCase()]
        : [];
    });
    return { providers: providers.toSorted(), requiresVerification: vars['AUTH_REQUIRE_VERIFICATION'] === 'true' };
  },
};

/** @throws {PlatformError} `binding_not_found` if platform.yaml does not declare `auth`. */
function declared(scope: RequestScope): RequestScope {
  if (scope.artifact.manifest.bindings['auth'] === undefined)
    throw new PlatformError('binding_not_found', { kind: 'auth', binding: '' });
  return scope;
}

function user(scope: RequestScope): { store: AuthStore; namespace: string; id: string } {
  return {
    store: opened(declared(scope).deps.stores.auth, 'auth'),
    namespace: apartNamespace(scope),
    id: toName(scope.args['id'], 'id', 128),
  };
}
