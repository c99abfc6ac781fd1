// The guest half of the auth binding (`PLATFORM_AUTH`): asks the host for users and sessions. lazy.ts loads this module
// when it is first used.
import type { LazyDeps } from '../lazy.ts';

export default function createAuth({ callHost, isRequest, toOptions }: LazyDeps): { create(name: string): object } {
  const ask = async (
    name: 'getUser' | 'getSession' | 'createUser' | 'listUsers' | 'revoke' | 'deleteUser',
    args: object,
  ): Promise<unknown> => (await callHost(`auth.${name}`, args)).value;

  const auth = {
    getUser: (token: unknown): Promise<unknown> => ask('getUser', { token }),
    verifyToken: async (token: unknown): Promise<boolean> => (await ask('getUser', { token })) !== null,
    /** Returns the session of a request, from its cookie or `Authorization: Bearer`. */
    async getSession(request: unknown): Promise<unknown> {
      if (!isRequest(request)) throw new TypeError('getSession takes the request');
      const { headers } = request as unknown as { headers: { get(name: string): string | null } };
      return ask('getSession', { cookie: headers.get('cookie'), authorization: headers.get('authorization') });
    },
    createUser: async (user: Readonly<Record<string, unknown>> | undefined): Promise<unknown> =>
      ask('createUser', { ...toOptions('The user', user) }),
    listUsers: async (options?: Readonly<Record<string, unknown>> | null): Promise<unknown> =>
      ask('listUsers', { ...toOptions('The options of listUsers', options) }),
    async revoke(token: unknown): Promise<void> {
      await ask('revoke', { token });
    },
    async deleteUser(id: unknown): Promise<void> {
      await ask('deleteUser', { id });
    },
  };
  return { create: () => auth };
}
