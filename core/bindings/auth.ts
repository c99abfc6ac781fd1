// The kind `auth`: managed sign-in. A project has only one set of users, so there is no resource name.
import type { BindingDescriptor } from './descriptor.ts';
import { bindingName } from './schemas.ts';

export const auth = {
  schema: {
    type: 'object',
    description: 'Managed sign-in of the users of a worker.',
    additionalProperties: false,
    required: ['binding'],
    properties: {
      binding: { ...bindingName, expects: 'a binding name, usually PLATFORM_AUTH' },
    },
    expects: 'a map with the key "binding", such as {binding: PLATFORM_AUTH}',
  },
  otherNames: [],
  type: 'PlatformAuth',
  label: 'Managed sign-in',
  module: 'auth',
  calls: ['getUser', 'getSession', 'createUser', 'listUsers', 'revoke', 'deleteUser'],
  methods: ['getUser', 'verifyToken', 'getSession', 'createUser', 'listUsers', 'revoke', 'deleteUser'],
  isPlain: true,
  ofPreview: 'namespace',
  isMeasured: false,
  reads: ['users.list', 'users.sessions', 'users.settings'],
  wrangler: null,
  page: { path: 'users', title: 'Users', one: 'user', area: null },
  storage: null,
} as const satisfies BindingDescriptor;
