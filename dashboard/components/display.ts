// Tables, badges, times, values: what people look at.
import { element, type Child } from './element.ts';

/** A column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => Child;
  readonly kind?: 'number' | 'actions';
}

/** A table that scrolls by itself; says `empty` where there are no rows. */
export function table<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  empty = 'Nothing here yet',
): HTMLElement {
  if (rows.length === 0) return element('div', { class: 'panel empty' }, empty);
  return element(
    'div',
    { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
    element(
      'table',
      {},
      element('caption', {}, caption),
      element(
        'thead',
        {},
        element(
          'tr',
          {},
          columns.map(({ title, kind }) => element('th', { scope: 'col', class: kind }, title)),
        ),
      ),
      element(
        'tbody',
        {},
        rows.map((row) =>
          element(
            'tr',
            {},
            columns.map(({ cell, kind }) => element('td', { class: kind }, cell(row))),
          ),
        ),
      ),
    ),
  );
}

type Mood = 'good' | 'warn' | 'bad' | 'faint';

/** A short word in the colour of its meaning. */
export function badge(text: string, mood: Mood): HTMLElement {
  return element('span', { class: `badge ${mood}` }, text);
}

const moods: Readonly<Record<string, Mood>> = {
  ok: 'good',
  completed: 'good',
  done: 'good',
  failed: 'bad',
  cancelled: 'warn',
  paused: 'warn',
  waiting: 'warn',
  error: 'bad',
};

/** The badge of an outcome, a status or a level. */
export function statusBadge(status: string): HTMLElement {
  return badge(status, moods[status] ?? (/_|error/.test(status) ? 'bad' : 'faint'));
}

/** Of a response. */
export function httpBadge(status: number): HTMLElement {
  return badge(String(status), status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good');
}

/** A moment, ms since 1970, as the clock here shows it. */
export function moment(at: number | null | undefined): HTMLElement | string {
  if (at === null || at === undefined) return '–';
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return '–';
  const isToday = date.toDateString() === new Date().toDateString();
  return element(
    'time',
    { datetime: date.toISOString(), title: date.toISOString() },
    isToday ? date.toLocaleTimeString() : date.toLocaleString(),
  );
}

export function milliseconds(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

export function size(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB'];
  let unit = 0;
  let value = bytes;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** A value as JSON, cut where it is long. */
export function json(value: unknown, charsMax = 2000): HTMLElement {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'undefined');
  return element('pre', {}, text.length > charsMax ? `${text.slice(0, charsMax)}…` : text);
}

/** Figures side by side. */
export function figures(pairs: readonly (readonly [label: string, value: Child])[]): HTMLElement {
  return element(
    'dl',
    { class: 'figures' },
    pairs.map(([label, value]) => element('div', {}, element('dt', {}, label), element('dd', {}, value))),
  );
}

/** Names and values, a line each. */
export function pairs(list: readonly (readonly [label: string, value: Child])[]): HTMLElement {
  return element(
    'dl',
    { class: 'pairs' },
    list.map(([label, value]) => [element('dt', {}, label), element('dd', {}, value)]),
  );
}

export function panel(title: string, ...children: Child[]): HTMLElement {
  return element('section', { class: 'panel', 'aria-label': title }, element('h3', {}, title), children);
}
