// The SQL editor: completion, single statements and scripts, EXPLAIN, history. The API limits the results.
import { useMemo, useState } from 'react';
import { useMutation } from '@tanstack/react-query';
import { ClockIcon, PlayIcon } from '@radix-ui/react-icons';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Editor } from '../../components/editor.tsx';
import { Menu, MenuItem } from '../../components/menu.tsx';
import { ErrorState, Notice } from '../../components/notice.tsx';
import { countText } from '../../components/text.ts';
import { durationText } from '../../components/time.tsx';
import { branchOf, type BindingPlace, type DatabaseTable } from '../../queries/resources.ts';
import { targetOf, useChanges } from './changes.tsx';
import { CopyRows } from './copy-rows.tsx';
import { Grid } from './grid.tsx';
import { runStatement } from './statements.ts';
import styles from './storage.module.css';
import type { Cell } from './value.tsx';

const HISTORY_MAX = 20;
const HISTORY_CHARS_MAX = 10_000;

type Result =
  | { readonly kind: 'rows'; readonly sql: string; readonly data: Awaited<ReturnType<typeof runStatement>> }
  | { readonly kind: 'script'; readonly count: number; readonly durationMs: number }
  | { readonly kind: 'plan'; readonly text: string };

export function SqlEditor({
  place,
  tables,
}: {
  readonly place: BindingPlace;
  readonly tables: readonly DatabaseTable[];
}) {
  const history = useHistory(place);
  const [sql, setSql] = useState(
    () => history.items[0] ?? (tables[0] === undefined ? '' : `SELECT * FROM ${tables[0].name} LIMIT 100;`),
  );
  const [result, setResult] = useState<Result | null>(null);
  const { change, question } = useChanges(place);
  const schema = useMemo(
    () => Object.fromEntries(tables.map(({ name, columns }) => [name, columns.map((column) => column.name)])),
    [tables],
  );
  const running = useMutation({
    mutationFn: (run: () => Promise<Result>) => run(),
    onSuccess: setResult,
    onMutate: () => setResult(null),
  });
  const statement = sql.trim();
  const isScript = /;\s*\S/.test(withoutTexts(statement));
  const run = (): void => {
    if (statement === '' || running.isPending) return;
    history.add(sql);
    const act = async (): Promise<Result> => {
      if (!isScript) return { kind: 'rows', sql: statement, data: await runStatement(place, statement) };
      const data = await dataOf(
        api.post('/projects/:id/databases/:database/script', {
          params: { id: place.id, database: place.binding },
          query: branchOf(place),
          body: { sql },
        }),
      );
      return { kind: 'script', ...data };
    };
    if (isReading(statement) && !isScript) running.mutate(act);
    else
      change({
        done: null,
        failed: 'Could not run the statement',
        act: () => running.mutateAsync(act).catch(() => {}),
      });
  };
  const explain = (): void =>
    running.mutate(async () => {
      const { plan } = await dataOf(
        api.post('/projects/:id/databases/:database/explain', {
          params: { id: place.id, database: place.binding },
          query: branchOf(place),
          body: { sql: statement },
        }),
      );
      const depth = new Map<number, number>([[0, 0]]);
      const lines = plan.map(({ id, parent, detail }) => {
        depth.set(id, (depth.get(parent) ?? 0) + 1);
        return `${'  '.repeat((depth.get(id) ?? 1) - 1)}${detail}`;
      });
      return { kind: 'plan', text: lines.join('\n') };
    });
  return (
    <>
      <Editor label="SQL" language="sql" value={sql} onChange={setSql} onRun={run} schema={schema} minHeight={140} />
      <div className={styles.bar}>
        <Button variant="primary" onClick={run} isPending={running.isPending} disabled={statement === ''}>
          <PlayIcon />
          {isScript ? 'Run script' : 'Run'}
        </Button>
        <Button onClick={explain} disabled={statement === '' || isScript || running.isPending}>
          Explain
        </Button>
        <Menu
          align="start"
          trigger={
            <Button disabled={history.items.length === 0}>
              <ClockIcon />
              History
            </Button>
          }
        >
          {history.items.map((text) => (
            <MenuItem key={text} onSelect={() => setSql(text)}>
              {text.length > 70 ? `${text.slice(0, 70)}…` : text}
            </MenuItem>
          ))}
        </Menu>
        <span className={styles.faint}>Ctrl+Enter runs it on {targetOf(place)}</span>
      </div>
      {running.error !== null && <ErrorState title="Could not run the statement" error={running.error} />}
      {result?.kind === 'plan' && <CodeBlock code={result.text} wraps />}
      {result?.kind === 'script' && (
        <Notice tone="ok" title={`${result.count} statements in ${durationText(result.durationMs)}`} />
      )}
      {result?.kind === 'rows' && <Answer result={result} />}
      {question}
    </>
  );
}

function Answer({ result: { data, sql } }: { readonly result: Extract<Result, { kind: 'rows' }> }) {
  const { columns, rows, meta, truncated } = data;
  const cells = rows as readonly (readonly Cell[])[];
  const took = durationText(meta.durationMs);
  const changed = `${meta.changes} ${meta.changes === 1 ? 'row' : 'rows'} changed`;
  const table = /\bfrom\s+"?([\w]+)/i.exec(sql)?.[1] ?? 'rows';
  // Column names of a result may repeat: make them unique for the grid.
  const names = columns.map((name, at) => (columns.indexOf(name) === at ? name : `${name} (${at + 1})`));
  return (
    <>
      <div className={styles.bar}>
        <span className={styles.soft}>
          {columns.length === 0 ? changed : `${countText(rows.length)} rows`} in {took}
          {columns.length > 0 && meta.changes > 0 && `, ${changed}`}
          {truncated && ', truncated to 1,000 rows'}
        </span>
        <span className={styles.grow} />
        {columns.length > 0 && <CopyRows columns={columns} rows={cells} table={table} />}
      </div>
      {columns.length > 0 && rows.length > 0 && (
        <Grid label="Result" columns={names.map((name) => ({ name }))} rows={cells} />
      )}
    </>
  );
}

/** A statement without string literals and comments. */
function withoutTexts(sql: string): string {
  return sql.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[^]*?\*\//g, ' ');
}

/** Whether a statement is read-only; false if unsure. */
function isReading(sql: string): boolean {
  const text = withoutTexts(sql).trim();
  return (
    /^(?:select|values|explain)\b/i.test(text) ||
    (/^with\b/i.test(text) && !/\b(?:insert|update|delete|replace)\b/i.test(text))
  );
}

/** Statements run on this database in this browser, newest first. */
function useHistory({ id, binding }: BindingPlace): { items: readonly string[]; add: (sql: string) => void } {
  const key = `platform sql ${id} ${binding}`;
  const [items, setItems] = useState<readonly string[]>(() => {
    try {
      const kept: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
      return Array.isArray(kept) ? kept.filter((one) => typeof one === 'string').slice(0, HISTORY_MAX) : [];
    } catch {
      return [];
    }
  });
  return {
    items,
    add(sql) {
      if (sql.length > HISTORY_CHARS_MAX) return;
      const next = [sql, ...items.filter((other) => other !== sql)].slice(0, HISTORY_MAX);
      setItems(next);
      try {
        localStorage.setItem(key, JSON.stringify(next));
      } catch {
        // Without storage, the history lasts until the page is closed.
      }
    },
  };
}
