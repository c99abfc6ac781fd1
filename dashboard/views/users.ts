// Users of the app: list, create, delete.
import { get, path, send } from '../api.ts';
import { button, confirmed, dialog, field } from '../components/controls.ts';
import { badge, moment, pairs, panel, table } from '../components/display.ts';
import { element } from '../components/element.ts';
import { live, type Live } from '../components/live.ts';
import { createPages } from '../components/pages.ts';
import type { View } from './view.ts';

interface User {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly emailVerified: boolean;
  readonly createdAt: string;
}

interface Settings {
  readonly providers: readonly string[];
  readonly requiresVerification: boolean;
}

export const usersView: View = (place) => {
  const pages = createPages('users', () => shown.refresh());
  const shown: Live = live(
    place,
    async () => {
      const page = pages.number;
      const [{ users, cursor }, settings] = await Promise.all([
        get<{ users: User[]; cursor: string | null }>(`/api/auth/users?limit=200${pages.query}`),
        get<Settings>('/api/auth/settings'),
      ]);
      return { users, cursor, settings, page };
    },
    ({ users, cursor, settings }) => [
      panel(
        'Signing in',
        pairs([
          ['With', ['e-mail and password', ...settings.providers].join(', ')],
          ['Addresses', settings.requiresVerification ? 'must be confirmed first' : 'need not be confirmed'],
        ]),
      ),
      table<User>(
        'Users',
        [
          { title: 'E-mail', cell: ({ email }) => email },
          { title: 'Name', cell: ({ name }) => name },
          {
            title: 'Confirmed',
            cell: ({ emailVerified }) => (emailVerified ? badge('yes', 'good') : badge('no', 'faint')),
          },
          { title: 'Since', cell: ({ createdAt }) => moment(Date.parse(createdAt)) },
          {
            title: '',
            kind: 'actions',
            cell: ({ id, email }) =>
              button(
                'Delete',
                () =>
                  confirmed(`Delete ${email} and all sessions?`, 'Delete', () =>
                    send('DELETE', path`/api/auth/users/${id}`),
                  ).then(shown.refresh),
                {
                  kind: 'danger',
                  about: email,
                },
              ),
          },
        ],
        users,
        'Nobody has signed up yet',
      ),
      pages.bar(cursor),
    ],
  );

  async function add(): Promise<void> {
    const email = element('input', { name: 'email', type: 'email', required: true, autocomplete: 'off' });
    const name = element('input', { name: 'name', autocomplete: 'off' });
    const password = element('input', {
      name: 'password',
      type: 'password',
      minlength: 8,
      autocomplete: 'new-password',
    });
    await dialog(
      'Create a user',
      'Create',
      [field('E-mail', email), field('Name', name), field('Password (empty: none yet)', password)],
      () =>
        send('POST', '/api/auth/users', {
          email: email.value,
          name: name.value,
          ...(password.value !== '' && { password: password.value }),
        }),
    );
    await shown.refresh();
  }
  place.root.append(element('p', { class: 'row' }, button('Create a user', add, { kind: 'main' })), shown.node);
};
