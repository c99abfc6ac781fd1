// Entries of a state binding: look, edit, add, delete.
import { get, parse, path, send } from '../api.ts';
import { button, confirmed, dialog, field } from '../components/controls.ts';
import { json, moment, table } from '../components/display.ts';
import { element } from '../components/element.ts';
import { live, type Live } from '../components/live.ts';
import { createPages } from '../components/pages.ts';
import type { View } from './view.ts';

interface Key {
  readonly name: string;
  readonly expiresAt: number | null;
  readonly metadata: string | null;
}

interface Entry {
  readonly key: string;
  readonly value?: string;
  readonly base64?: string;
  readonly metadata: unknown;
  readonly expiresAt: number | null;
  readonly version: string;
}

export const stateView: View = (place) => {
  const base = path`/api/state/${place.binding}/entries`;
  const prefix = element('input', { type: 'search', name: 'prefix', autocomplete: 'off' });
  const pages = createPages('entries', () => shown.refresh());
  const shown: Live = live(
    place,
    async () => ({
      ...(await get<{ keys: Key[]; cursor: string | null }>(
        `${base}?limit=200&prefix=${encodeURIComponent(prefix.value)}${pages.query}`,
      )),
      page: pages.number,
    }),
    ({ keys, cursor }) => [
      table<Key>(
        'Entries',
        [
          { title: 'Key', cell: ({ name }) => element('span', { class: 'mono' }, name) },
          {
            title: 'Metadata',
            cell: ({ metadata }) => (metadata === null ? '' : json(JSON.parse(metadata) as unknown, 200)),
          },
          { title: 'Expires', cell: ({ expiresAt }) => moment(expiresAt) },
          {
            title: '',
            kind: 'actions',
            cell: ({ name }) => [
              button('Edit', () => edit(name), { about: name }),
              button(
                'Delete',
                () =>
                  confirmed(`Delete ${name}?`, 'Delete', () => send('DELETE', base + path`/${name}`)).then(
                    shown.refresh,
                  ),
                {
                  kind: 'danger',
                  about: name,
                },
              ),
            ],
          },
        ],
        keys,
        'No entries',
      ),
      pages.bar(cursor),
    ],
  );

  /** Writes over what was read, and over nothing else: who came between is told of. */
  async function edit(key: string): Promise<void> {
    const entry = await get<Entry>(base + path`/${key}`);
    const isText = entry.value !== undefined;
    const value = element('textarea', { name: 'value' }, entry.value ?? entry.base64);
    const metadata = element('input', {
      name: 'metadata',
      value: entry.metadata === null ? '' : JSON.stringify(entry.metadata),
    });
    await dialog(
      `Edit ${key}`,
      'Save',
      [field(isText ? 'Value' : 'Value (bytes in base64)', value), field('Metadata (JSON)', metadata)],
      async () => {
        const { written } = await send<{ written: boolean }>('PUT', base + path`/${key}`, {
          [isText ? 'value' : 'base64']: value.value,
          version: entry.version,
          ...(entry.expiresAt !== null && { expiresAt: entry.expiresAt }),
          ...(metadata.value !== '' && { metadata: parse(metadata.value, 'The metadata') }),
        });
        if (!written) throw new Error('The entry has changed meanwhile: close this and open it again');
      },
    );
    await shown.refresh();
  }

  async function add(): Promise<void> {
    const key = element('input', { name: 'key', required: true });
    const value = element('textarea', { name: 'value' });
    const ttl = element('input', { name: 'ttl', type: 'number', min: 1 });
    await dialog(
      'Add an entry',
      'Add',
      [field('Key', key), field('Value', value), field('Seconds to live (empty: for ever)', ttl)],
      () =>
        send('PUT', base + path`/${key.value}`, {
          value: value.value,
          ...(ttl.value !== '' && { expirationTtl: Number(ttl.value) }),
        }),
    );
    await shown.refresh();
  }
  prefix.addEventListener('input', () => {
    pages.reset();
    void shown.refresh();
  });
  place.root.append(
    element(
      'div',
      { class: 'panel row' },
      field('Prefix', prefix, true),
      button('Add an entry', add, { kind: 'main' }),
    ),
    shown.node,
  );
};
