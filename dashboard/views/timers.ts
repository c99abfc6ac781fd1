// Timers that are set, and those that fired since dev was started.
import { get, parse, path, send } from '../api.ts';
import { button, confirmed, dialog, field } from '../components/controls.ts';
import { json, milliseconds, moment, statusBadge, table } from '../components/display.ts';
import { element } from '../components/element.ts';
import { live, type Live } from '../components/live.ts';
import { createPages } from '../components/pages.ts';
import type { View } from './view.ts';

interface Timer {
  readonly id: string;
  readonly scheduledTime: number;
  readonly payload: unknown;
  readonly intervalMs: number | null;
  readonly cron?: string;
  readonly timezone?: string;
}

/** An event that has ended. */
interface Execution {
  readonly at: number;
  readonly id: string;
  readonly outcome: string;
  readonly cpuMs: number;
  readonly wallMs: number;
}

/** A table of events that have ended. */
function executions(list: readonly Execution[]): HTMLElement {
  return table<Execution>(
    'Fired since dev was started',
    [
      { title: 'Ended', cell: ({ at }) => moment(at) },
      { title: 'Timer', cell: ({ id }) => id },
      { title: 'Outcome', cell: ({ outcome }) => statusBadge(outcome) },
      { title: 'CPU', kind: 'number', cell: ({ cpuMs }) => milliseconds(cpuMs) },
      { title: 'Wall', kind: 'number', cell: ({ wallMs }) => milliseconds(wallMs) },
    ],
    list,
    'None has fired since dev was started',
  );
}

export const timersView: View = (place) => {
  const base = path`/api/timer/${place.binding}`;
  const pages = createPages('timers', () => shown.refresh());
  const shown: Live = live(
    place,
    async () => {
      const page = pages.number;
      const [set, fired] = await Promise.all([
        get<{ timers: Timer[]; cursor: string | null }>(`${base}/entries?limit=200${pages.query}`),
        get<{ executions: Execution[] }>(`${base}/executions`),
      ]);
      return { ...set, ...fired, page };
    },
    ({ timers, cursor, executions: fired }) => [
      element('h3', {}, 'Set'),
      table<Timer>(
        'Timers',
        [
          { title: 'Timer', cell: ({ id }) => element('span', { class: 'mono' }, id) },
          { title: 'Due', cell: ({ scheduledTime }) => moment(scheduledTime) },
          {
            title: 'Again',
            cell: ({ intervalMs, cron, timezone }) =>
              cron ? `${cron} ${timezone ?? ''}` : intervalMs === null ? '' : `every ${milliseconds(intervalMs)}`,
          },
          { title: 'Payload', cell: ({ payload }) => (payload === null ? '' : json(payload, 300)) },
          {
            title: '',
            kind: 'actions',
            cell: ({ id }) => [
              button('Run now', () => send('POST', base + path`/entries/${id}/trigger`, {}).then(shown.refresh), {
                about: id,
              }),
              button(
                'Delete',
                () =>
                  confirmed(`Delete the timer ${id}?`, 'Delete', () =>
                    send('DELETE', base + path`/entries/${id}`),
                  ).then(shown.refresh),
                {
                  kind: 'danger',
                  about: id,
                },
              ),
            ],
          },
        ],
        timers,
        'No timer is set',
      ),
      pages.bar(cursor),
      element('h3', {}, 'Fired'),
      executions(fired),
    ],
  );

  async function add(): Promise<void> {
    const id = element('input', { name: 'id', required: true });
    const after = element('input', { name: 'after', type: 'number', min: 0, value: 60 });
    const payload = element('textarea', { name: 'payload' }, 'null');
    await dialog(
      'Set a timer',
      'Set',
      [field('Id', id), field('Seconds from now', after), field('Payload (JSON)', payload)],
      () =>
        send('POST', `${base}/entries`, {
          id: id.value,
          afterMs: Math.round(Number(after.value) * 1000),
          payload: parse(payload.value, 'The payload'),
        }),
    );
    await shown.refresh();
  }
  place.root.append(element('p', { class: 'row' }, button('Set a timer', add, { kind: 'main' })), shown.node);
};
