// The schedules of platform.yaml: when they ran, when they run next, and run now.
import { get, path, send } from '../api.ts';
import { button } from '../components/controls.ts';
import { moment, statusBadge, table } from '../components/display.ts';
import { live, type Live } from '../components/live.ts';
import type { View } from './view.ts';

interface Cron {
  readonly name: string;
  readonly schedule: string;
  readonly timezone: string;
  readonly nextAt: number;
  readonly lastAt: number | null;
  readonly lastOutcome: string | null;
}

export const cronView: View = (place) => {
  const shown: Live = live(
    place,
    async () => (await get<{ crons: Cron[] }>('/api/cron')).crons,
    (crons) =>
      table<Cron>(
        'Schedules',
        [
          { title: 'Name', cell: ({ name }) => name },
          { title: 'Schedule', cell: ({ schedule, timezone }) => `${schedule} ${timezone}` },
          { title: 'Next', cell: ({ nextAt }) => moment(nextAt) },
          { title: 'Last', cell: ({ lastAt }) => moment(lastAt) },
          { title: 'Outcome', cell: ({ lastOutcome }) => (lastOutcome === null ? '' : statusBadge(lastOutcome)) },
          {
            title: '',
            kind: 'actions',
            cell: ({ name }) =>
              button('Run now', () => send('POST', path`/api/cron/${name}/trigger`, {}).then(shown.refresh), {
                about: name,
              }),
          },
        ],
        crons,
        'platform.yaml declares no cron',
      ),
  );
  place.root.append(shown.node);
};
