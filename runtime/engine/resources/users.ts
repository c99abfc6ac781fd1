// Management operations on users of an app: accounts, sign-in methods, sessions. Tokens and password hashes never
// leave this process.
import { PlatformError } from '#core/errors.ts';
import type { AppUser } from '#core/resource-call/users.ts';
import { toName } from '../bindings/arguments.ts';
import type { AuthStore } from '../bindings/auth.ts';
import { apartNamespace, call, opened, type Asked, type OperationsOf } from './asked.ts';

export const userOperations: OperationsOf<'users'> = {
  async 'users.list'(asked) {
    const { limit, cursor, email } = declared(asked).args;
    const { value } = await call(asked, 'auth.listUsers', { limit: limit ?? 100, cursor, email });
    return value as { users: AppUser[]; cursor: string | null };
  },
  async 'users.create'(asked) {
    const { email, password, name, emailVerified, metadata } = declared(asked).args;
    const { value } = await call(asked, 'auth.createUser', { email, password, name, emailVerified, metadata });
    return { user: value as AppUser };
  },
  async 'users.delete'(asked) {
    await call(declared(asked), 'auth.deleteUser', { id: asked.args['id'] });
    return {};
  },
  async 'users.sessions'(asked) {
    const { store, namespace, id } = user(asked);
    return { sessions: await store.listSessions(namespace, id), methods: await store.signInMethods(namespace, id) };
  },
  async 'users.end-session'(asked) {
    const { store, namespace, id } = user(asked);
    await store.endSession(namespace, id, toName(asked.args['session'], 'session', 128));
    return {};
  },
  async 'users.settings'(asked) {
    const { vars } = declared(asked).route;
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
function declared(asked: Asked): Asked {
  if (asked.artifact.manifest.bindings['auth'] === undefined)
    throw new PlatformError('binding_not_found', { kind: 'auth', binding: '' });
  return asked;
}

function user(asked: Asked): { store: AuthStore; namespace: string; id: string } {
  return {
    store: opened(declared(asked).deps.stores.auth, 'auth'),
    namespace: apartNamespace(asked),
    id: toName(asked.args['id'], 'id', 128),
  };
}
