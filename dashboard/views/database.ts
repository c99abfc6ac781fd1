// Tables of a database with their rows, and a box for SQL that reads and writes.
import { get, path, send } from '../api.ts';
import { button, field, problem, tabs } from '../components/controls.ts';
import { milliseconds, panel, table } from '../components/display.ts';
import { element, fill, type Child } from '../components/element.ts';
import { live, type Live } from '../components/live.ts';
import type { View } from './view.ts';

type Value = null | string | number | { readonly b?: string; readonly i?: string; readonly n?: string };

interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Value[])[];
  readonly truncated?: boolean;
  readonly meta?: { readonly durationMs: number; readonly changes: number; readonly rowsRead: number };
  /** Of a script. */
  readonly count?: number;
  readonly durationMs?: number;
}

const PAGE_ROWS = 100;

function shown(value: Value): Child {
  if (value === null) return element('span', { class: 'faint' }, 'NULL');
  if (typeof value !== 'object') return String(value);
  return (
    value.i ?? value.n ?? element('span', { class: 'faint' }, `${Math.floor(((value.b ?? '').length * 3) / 4)} bytes`)
  );
}

function rowsOf(caption: string, { columns, rows }: Answer): HTMLElement {
  return table(
    caption,
    columns.map((title, index) => ({ title, cell: (row: readonly Value[]) => shown(row[index] ?? null) })),
    rows,
    'No rows',
  );
}

export const databaseView: View = (place) => {
  const base = path`/api/db/${place.binding}`;
  const sql = element('textarea', { name: 'sql', spellcheck: 'false', placeholder: 'SELECT * FROM …' });
  const script = element(
    'select',
    { name: 'mode', 'aria-label': 'One statement or a script' },
    element('option', { value: '' }, 'One statement'),
    element('option', { value: 'script' }, 'A script'),
  );
  const result = element('div', { 'aria-live': 'polite' });
  let browser: Live | null = null;
  let browserEnds = new AbortController();
  let lastTable = '';
  place.signal.addEventListener('abort', () => browserEnds.abort());

  async function run(): Promise<void> {
    try {
      const body = { sql: sql.value, ...(script.value === 'script' && { script: true }) };
      const answer = await send<Answer>('POST', `${base}/query`, body);
      if (answer.count !== undefined)
        fill(result, element('p', {}, `${answer.count} statements in ${milliseconds(answer.durationMs ?? 0)}`));
      else {
        const { rows, meta, truncated } = answer;
        const words = `${rows.length} rows${truncated === true ? ', cut off' : ''}, ${meta?.changes ?? 0} changes, ${milliseconds(meta?.durationMs ?? 0)}`;
        fill(result, element('p', { class: 'faint' }, words), rows.length > 0 && rowsOf('Result', answer));
      }
      await browser?.refresh();
    } catch (error) {
      fill(result, problem(error));
    }
  }
  sql.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void run();
  });
  place.root.append(
    panel(
      'Query',
      field('SQL (Ctrl+Enter runs it)', sql),
      element('p', { class: 'row' }, button('Run', run, { kind: 'main' }), element('div', {}, script)),
      result,
    ),
  );

  const names = live(
    place,
    async () => (await get<{ tables: { name: string; type: string }[] }>(`${base}/tables`)).tables,
    (tables) => {
      if (tables.length === 0) return element('div', { class: 'panel empty' }, 'The database has no tables');
      const rows = element('div');
      const chooser = element('div');
      let chosen = Math.max(
        0,
        tables.findIndex(({ name }) => name === lastTable),
      );
      let offset = 0;
      browserEnds.abort();
      browserEnds = new AbortController();
      const choose = (index: number): void => {
        if (index !== chosen) offset = 0;
        chosen = index;
        lastTable = tables[index]!.name;
        fill(
          chooser,
          tabs(
            tables.map(({ name, type }) => (type === 'view' ? `${name} (view)` : name)),
            chosen,
            choose,
          ),
        );
        void browser?.refresh();
      };
      browser = live(
        { ...place, signal: browserEnds.signal },
        () =>
          get<Answer & { total: number }>(
            `${base}/tables/${encodeURIComponent(tables[chosen]!.name)}?limit=${PAGE_ROWS}&offset=${offset}`,
          ),
        (page) => {
          const turn = (by: number) => () => {
            offset = Math.max(0, offset + by);
            return browser?.refresh();
          };
          const back = button('Previous', turn(-PAGE_ROWS));
          const on = button('Next', turn(PAGE_ROWS));
          back.disabled = offset === 0;
          on.disabled = offset + PAGE_ROWS >= page.total;
          const last = Math.min(page.total, offset + PAGE_ROWS);
          return [
            rowsOf(tables[chosen]!.name, page),
            element(
              'p',
              { class: 'row' },
              back,
              on,
              element('span', {}, `${page.total === 0 ? 0 : offset + 1} to ${last} of ${page.total}`),
            ),
          ];
        },
      );
      fill(rows, browser.node);
      choose(chosen);
      return [chooser, rows];
    },
  );
  place.root.append(names.node);
};
