// The project's configuration and bindings. Variables are shown by name only: their values may be secrets.
import { get } from '../api.ts';
import { json, pairs, panel, table } from '../components/display.ts';
import { live, type Live } from '../components/live.ts';
import type { Configuration, View } from './view.ts';

export const configurationView: View = (place) => {
  const shown: Live = live(
    place,
    () => get<Configuration>('/api/config'),
    (configuration) => {
      const {
        name,
        url,
        kind,
        deployment,
        compatibilityDate,
        compatibilityFlags = [],
        bindings = {},
        variables = [],
        assets,
      } = configuration;
      const rows = Object.entries(bindings).flatMap(([bindingKind, names]) =>
        Object.entries(names).map(([binding, resource]) => ({ bindingKind, binding, resource })),
      );
      return [
        panel(
          'Project',
          pairs([
            ['Name', name],
            ['Address', url],
            ['Kind', kind ?? '–'],
            ['Deployment', deployment ?? 'not built yet'],
            ['Compatibility date', compatibilityDate ?? '–'],
            ['Compatibility flags', compatibilityFlags.join(', ') || '–'],
            ['Static files', assets == null ? '–' : String(assets.files)],
            ['Variables', variables.join(', ') || '–'],
          ]),
        ),
        table(
          'Bindings',
          [
            { title: 'Binding', cell: ({ binding }) => binding },
            { title: 'Kind', cell: ({ bindingKind }) => bindingKind },
            { title: 'Resource', cell: ({ resource }) => resource },
          ],
          rows,
          'The project declares no bindings',
        ),
        panel('platform.yaml, with its defaults', json(configuration.config ?? null, 100_000)),
      ];
    },
  );
  place.root.append(shown.node);
};
