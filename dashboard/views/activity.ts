// Requests and events with their times, and log lines, as they come.
import type { ActivityEvent } from '../activity.ts';
import { badge, httpBadge, milliseconds, moment, statusBadge, table, type Column } from '../components/display.ts';
import { button, field } from '../components/controls.ts';
import { element, fill } from '../components/element.ts';
import type { Place, View } from './view.ts';

const SHOWN_MAX = 500;

const columns: readonly Column<ActivityEvent>[] = [
  { title: 'Time', cell: ({ at }) => moment(at) },
  { title: 'What', cell: (event) => (event.type === 'request' ? event.method : event.kind) },
  {
    title: 'Path or name',
    cell: ({ type, path, name, id }) =>
      element('span', { class: 'mono' }, type === 'request' ? path : id === '' ? name : `${name} ${id}`),
  },
  {
    title: 'Status',
    cell: ({ type, status, outcome }) => (type === 'request' ? httpBadge(status) : statusBadge(outcome)),
  },
  { title: 'Ended with', cell: ({ outcome }) => (outcome === 'ok' ? '' : badge(outcome, 'bad')) },
  { title: 'CPU', kind: 'number', cell: ({ cpuMs }) => milliseconds(cpuMs) },
  { title: 'Wall', kind: 'number', cell: ({ wallMs }) => milliseconds(wallMs) },
];

/** A list of events with a filter, drawn at most once a frame. */
function listing(
  place: Place,
  label: string,
  matches: (event: ActivityEvent, text: string) => boolean,
  draw: (found: ActivityEvent[]) => Node,
): void {
  const filter = element('input', { type: 'search', name: 'filter', autocomplete: 'off' });
  const list = element('div');
  let from = 0;
  let scheduled = false;
  const redraw = (): void => {
    scheduled = false;
    const text = filter.value.toLowerCase();
    const found = place.activity.all.filter((event) => event.seq > from && matches(event, text));
    fill(list, draw(found.slice(-SHOWN_MAX).toReversed()));
  };
  const schedule = (): void => {
    if (scheduled || place.signal.aborted) return;
    scheduled = true;
    requestAnimationFrame(redraw);
  };
  const clear = button('Clear', () => {
    from = place.activity.all.at(-1)?.seq ?? 0;
    redraw();
  });
  filter.addEventListener('input', schedule);
  place.activity.listen(schedule, place.signal);
  place.root.append(element('div', { class: 'panel row' }, field(label, filter, true), clear), list);
  redraw();
}

export const requestsView: View = (place) =>
  listing(
    place,
    'Show those with',
    ({ type, method, path, status, kind, name, outcome }, text) =>
      (type === 'request' && `${method} ${path} ${status} ${outcome}`.toLowerCase().includes(text)) ||
      (type === 'event' && `${kind} ${name} ${outcome}`.toLowerCase().includes(text)),
    (found) => table('Requests and events', columns, found, 'No request has come yet'),
  );

const levelMoods = { debug: 'faint', info: 'faint', warn: 'warn', error: 'bad' } as const;

export const logsView: View = (place) =>
  listing(
    place,
    'Show lines with',
    ({ type, level, message }, text) => type === 'log' && `${level} ${message}`.toLowerCase().includes(text),
    (found) =>
      found.length === 0
        ? element('div', { class: 'panel empty' }, 'Nothing has been logged yet')
        : element(
            'div',
            { class: 'panel', role: 'log', 'aria-label': 'Log' },
            found.map(({ at, level, message }) =>
              element(
                'div',
                { class: 'log' },
                element('span', { class: 'faint' }, moment(at)),
                element('span', { class: levelMoods[level] }, level),
                element('pre', {}, message),
              ),
            ),
          ),
  );
