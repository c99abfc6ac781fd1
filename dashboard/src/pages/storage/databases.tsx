// A database: tables with rows, columns and CREATE statement; SQL editor, slow queries, copies. The selection is
// kept in the URL.
import { TableIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { CodeBlock } from '../../components/code-block.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Table } from '../../components/table.tsx';
import { TabLink, TabLinks } from '../../components/tabs.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import { mode } from '../../state/mode.ts';
import { tablesQuery, type BindingPlace, type DatabaseTable } from '../../queries/resources.ts';
import type { DatabaseSearch } from '../../queries/resource-search.ts';
import { Activity } from '../jobs/activity.tsx';
import { DatabaseMigrations } from '../migrations/migrations.tsx';
import { AreaPage } from './binding-page.tsx';
import { Copies } from './copies.tsx';
import { bindingKind, storageArea } from './kinds.ts';
import { Rows } from './rows.tsx';
import { SlowStatements } from './slow.tsx';
import { SqlEditor } from './sql-editor.tsx';
import styles from './storage.module.css';

const views = [
  ['rows', 'Rows'],
  ['columns', 'Columns'],
  ['sql', 'SQL'],
  ['slow', 'Slow queries'],
  ['copies', 'Copies'],
  // `platform dev` applies migrations itself, and stores no usage.
  ...(mode === 'dev'
    ? []
    : ([
        ['migrations', 'Migrations'],
        ['metrics', 'Metrics'],
      ] as const)),
] as const;

export function DatabasesPage() {
  return (
    <AreaPage area={storageArea} kind={bindingKind('db')}>
      {(place) => <Database key={`${place.binding} ${place.branch ?? ''}`} place={place} />}
    </AreaPage>
  );
}

function Database({ place }: { readonly place: BindingPlace }) {
  const search = useSearch({ strict: false }) as DatabaseSearch;
  const { data, error, refetch } = useQuery(tablesQuery(place));
  if (data === undefined) return <Unloaded what="the database" error={error} refetch={refetch} />;
  const tables: readonly DatabaseTable[] = data.items;
  const table = tables.find(({ name }) => name === search.table) ?? tables[0] ?? null;
  const view = search.view ?? 'rows';
  return (
    <div className={styles.split}>
      <nav className={styles.tables} aria-label="Tables">
        {tables.map(({ name, type }) => (
          <Link
            key={name}
            to="."
            search={(before: DatabaseSearch) => ({
              ...(before.branch !== undefined && { branch: before.branch }),
              table: name,
              ...(before.view === 'columns' && { view: 'columns' as const }),
            })}
            data-current={(name === table?.name && (view === 'rows' || view === 'columns')) || undefined}
          >
            <TableIcon aria-hidden />
            <span title={name}>{name}</span>
            {type === 'view' && <small>view</small>}
          </Link>
        ))}
        {tables.length === 0 && <p className={styles.faint}>No tables</p>}
      </nav>
      <div className={styles.content}>
        <TabLinks label="View" isInner>
          {views.map(([id, title]) => (
            <TabLink
              key={id}
              to="."
              search={(before: DatabaseSearch) => ({
                ...(before.branch !== undefined && { branch: before.branch }),
                ...(before.table !== undefined && { table: before.table }),
                ...(id !== 'rows' && { view: id }),
              })}
              aria-current={view === id ? 'page' : undefined}
              activeOptions={{ exact: true, includeSearch: true }}
            >
              {title}
            </TabLink>
          ))}
        </TabLinks>
        {view === 'sql' && <SqlEditor place={place} tables={tables} />}
        {view === 'slow' && <SlowStatements place={place} />}
        {view === 'copies' && <Copies place={place} />}
        {view === 'migrations' && <DatabaseMigrations place={place} />}
        {view === 'metrics' && <Metrics place={place} bytes={data.bytes} />}
        {(view === 'rows' || view === 'columns') && table === null && (
          <EmptyState title="No tables yet">
            {
              'Create tables with a migration, such as `migrations/0001_first.sql`, which the next deployment applies, or in the SQL view.'
            }
          </EmptyState>
        )}
        {view === 'rows' && table !== null && <Rows key={table.name} place={place} table={table} />}
        {view === 'columns' && table !== null && <Columns table={table} />}
      </div>
    </div>
  );
}

function Metrics({ place, bytes }: { readonly place: BindingPlace; readonly bytes: number }) {
  return (
    <Activity
      place={place}
      kind="db"
      title="Calls"
      // A database in the cloud service has no size, because the service does not report it.
      size={bytes === 0 ? null : { name: 'Size', bytes }}
    />
  );
}

function Columns({ table }: { readonly table: DatabaseTable }) {
  return (
    <>
      <Table
        label={`Columns of ${table.name}`}
        rows={table.columns}
        rowKey={({ name }) => name}
        columns={[
          {
            id: 'name',
            header: 'Column',
            phone: 'first',
            cell: ({ name }) => <span className={styles.mono}>{name}</span>,
          },
          { id: 'type', header: 'Type', cell: ({ type }) => (type === '' ? 'any' : type) },
          { id: 'null', header: 'Nullable', cell: ({ notNull }) => (notNull ? 'NOT NULL' : 'nullable') },
          {
            id: 'key',
            header: 'Primary key',
            phone: 'first-end',
            cell: ({ primaryKey }) =>
              primaryKey === 0
                ? ''
                : table.columns.filter((one) => one.primaryKey > 0).length === 1
                  ? 'primary key'
                  : `primary key, part ${primaryKey}`,
          },
        ]}
      />
      <CodeBlock code={table.sql} wraps />
    </>
  );
}
