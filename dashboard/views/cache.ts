// Texts of a cache binding: look and delete. They may go away at any time.
import { get, path, send } from '../api.ts';
import { button, dialog } from '../components/controls.ts';
import { json, moment, size, table } from '../components/display.ts';
import { element } from '../components/element.ts';
import { live, type Live } from '../components/live.ts';
import type { View } from './view.ts';

interface Entry {
  readonly key: string;
  readonly bytes: number;
  readonly expiresAt: number;
}

const SHOWN_MAX = 500;

export const cacheView: View = (place) => {
  const base = path`/api/cache/${place.binding}/entries`;
  const shown: Live = live(
    place,
    () => get<{ entries: Entry[] }>(`${base}?limit=${SHOWN_MAX}`),
    ({ entries }) => [
      table<Entry>(
        'Entries',
        [
          { title: 'Key', cell: ({ key }) => key },
          { title: 'Size', kind: 'number', cell: ({ bytes }) => size(bytes) },
          { title: 'Expires', cell: ({ expiresAt }) => moment(expiresAt) },
          {
            title: '',
            kind: 'actions',
            cell: ({ key }) => [
              button('Show', () => show(key), { about: key }),
              button('Delete', () => send('DELETE', base + path`/${key}`).then(shown.refresh), {
                kind: 'danger',
                about: key,
              }),
            ],
          },
        ],
        entries,
        'The cache is empty',
      ),
      entries.length === SHOWN_MAX && element('p', { class: 'faint' }, `Only ${SHOWN_MAX} are shown.`),
    ],
  );
  async function show(key: string): Promise<void> {
    const { value } = await get<{ value: string }>(base + path`/${key}`);
    await dialog(key, 'Close', json(value, 100_000), () => Promise.resolve());
  }
  place.root.append(shown.node);
};
