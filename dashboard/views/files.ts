// Files of a binding, folder by folder: upload, download, delete.
import { get, path, send, upload } from '../api.ts';
import { button, confirmed, field, problem } from '../components/controls.ts';
import { moment, size, table } from '../components/display.ts';
import { element, fill } from '../components/element.ts';
import { live, type Live } from '../components/live.ts';
import { createPages } from '../components/pages.ts';
import type { View } from './view.ts';

interface File {
  readonly key: string;
  readonly size: number;
  readonly uploadedAt: number;
  readonly headers: { readonly contentType?: string };
}

interface Page {
  readonly files: readonly File[];
  readonly prefixes: readonly string[];
  readonly cursor: string | null;
}

export const filesView: View = (place) => {
  const base = path`/api/fs/${place.binding}/entries`;
  const crumbs = element('nav', { class: 'crumbs', 'aria-label': 'Folder' });
  const trouble = element('div');
  const chosen = element('input', { type: 'file', name: 'file', multiple: true });
  let folder = '';

  const pages = createPages('files', () => shown.refresh());
  const shown: Live = live(
    place,
    async () => ({
      ...(await get<Page>(`${base}?prefix=${encodeURIComponent(folder)}&limit=500${pages.query}`)),
      page: pages.number,
    }),
    ({ files, prefixes, cursor }) => {
      const rows = [
        ...prefixes.map((prefix) => ({ prefix, file: null })),
        ...files.map((file) => ({ prefix: file.key, file })),
      ];
      return [
        table(
          'Files',
          [
            {
              title: 'Name',
              cell: ({ prefix, file }) => {
                const name = prefix.slice(folder.length);
                const href = base + path`/${prefix}`;
                return file === null
                  ? button(name, () => enter(prefix), { about: 'folder' })
                  : element('a', { href, download: name }, name);
              },
            },
            { title: 'Type', cell: ({ file }) => file?.headers.contentType ?? '' },
            { title: 'Size', kind: 'number', cell: ({ file }) => (file === null ? '' : size(file.size)) },
            { title: 'Uploaded', cell: ({ file }) => (file === null ? '' : moment(file.uploadedAt)) },
            {
              title: '',
              kind: 'actions',
              cell: ({ file }) =>
                file !== null &&
                button(
                  'Delete',
                  () =>
                    confirmed(`Delete ${file.key}?`, 'Delete', () => send('DELETE', base + path`/${file.key}`)).then(
                      shown.refresh,
                    ),
                  {
                    kind: 'danger',
                    about: file.key,
                  },
                ),
            },
          ],
          rows,
          'No files here',
        ),
        pages.bar(cursor),
      ];
    },
  );

  function enter(to: string): Promise<void> {
    folder = to;
    pages.reset();
    const names = folder.split('/').slice(0, -1);
    fill(
      crumbs,
      button('All files', () => enter('')),
      names.map((name, index) => [
        ' / ',
        button(name === '' ? '(no name)' : name, () => enter(`${names.slice(0, index + 1).join('/')}/`)),
      ]),
    );
    return shown.refresh();
  }

  chosen.addEventListener('change', async () => {
    try {
      for (const file of chosen.files ?? []) await upload(base + path`/${folder + file.name}`, file);
      fill(trouble);
    } catch (error) {
      fill(trouble, problem(error));
    }
    chosen.value = '';
    await shown.refresh();
  });
  place.root.append(
    element('div', { class: 'panel' }, field('Upload into this folder', chosen)),
    trouble,
    crumbs,
    shown.node,
  );
  void enter('');
};
