// Paginated rows of a table, sorted and searched by the database. row-sheet.tsx shows and edits a row.
import { ChevronLeftIcon, ChevronRightIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { IconButton } from '../../components/button.tsx';
import { Input, Select } from '../../components/field.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { countText } from '../../components/text.ts';
import { Unloaded } from '../../components/unloaded.tsx';
import { rowsQuery, type BindingPlace, type DatabaseTable } from '../../queries/resources.ts';
import type { DatabaseSearch } from '../../queries/resource-search.ts';
import { CopyRows } from './copy-rows.tsx';
import { Grid } from './grid.tsx';
import { InsertRow } from './insert-row.tsx';
import { RowSheet } from './row-sheet.tsx';
import styles from './storage.module.css';
import type { Cell } from './value.tsx';

const PAGE = 100;
/** Delay between typing and the query. */
const TYPING_MS = 300;

export function Rows({ place, table }: { readonly place: BindingPlace; readonly table: DatabaseTable }) {
  const search = useSearch({ strict: false }) as DatabaseSearch;
  const navigate = useNavigate();
  const { offset = 0, order, descending = false, row } = search;
  const column = search.column ?? table.columns[0]?.name ?? '';
  const [typed, setTyped] = useState(search.search ?? '');
  // Column of the clicked cell, which the sheet of its row opens for editing.
  const [clicked, setClicked] = useState<string | null>(null);
  const show = (next: Partial<DatabaseSearch>, replace = false): void =>
    void navigate({ to: '.', search: (before: object) => ({ ...before, ...next }), replace } as never);
  useEffect(() => {
    if (typed === (search.search ?? '')) return;
    const timer = setTimeout(
      () => show({ search: typed === '' ? undefined : typed, offset: undefined, row: undefined }, true),
      TYPING_MS,
    );
    return () => clearTimeout(timer);
  });
  const { data, error, isFetching, refetch } = useQuery(
    rowsQuery(place, {
      table: table.name,
      limit: PAGE,
      offset,
      ...(order !== undefined && { order, descending }),
      ...(search.search !== undefined && { search: search.search, column }),
    }),
  );
  if (data === undefined) return <Unloaded what="the rows" error={error} refetch={refetch} />;
  const rows = data.rows as readonly (readonly Cell[])[];
  const last = Math.min(offset + rows.length, data.total);
  return (
    <>
      <div className={styles.bar} role="search">
        <Select
          className={styles.narrow}
          aria-label="Column to search"
          value={column}
          onChange={(event) => show({ column: event.target.value, offset: undefined, row: undefined })}
        >
          {table.columns.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </Select>
        <Input
          className={styles.grow}
          aria-label="Search rows"
          placeholder="Contains…"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        {table.type !== 'view' && <InsertRow place={place} table={table} />}
        <CopyRows
          columns={table.columns.map(({ name }) => name)}
          rows={rows}
          table={table.name}
          note={rows.length < data.total ? `Only the ${rows.length} rows of this page` : undefined}
        />
        <span className={styles.pager}>
          <span className={styles.faint} aria-live="polite">
            {data.total === 0 ? 'no rows' : `${countText(offset + 1)}–${countText(last)} of ${countText(data.total)}`}
            {isFetching ? ' …' : ''}
          </span>
          <IconButton
            label="Previous page"
            disabled={offset === 0}
            onClick={() => show({ offset: Math.max(0, offset - PAGE) || undefined, row: undefined })}
          >
            <ChevronLeftIcon />
          </IconButton>
          <IconButton
            label="Next page"
            disabled={last >= data.total}
            onClick={() => show({ offset: offset + PAGE, row: undefined })}
          >
            <ChevronRightIcon />
          </IconButton>
        </span>
      </div>
      {rows.length === 0 ? (
        <EmptyState title={search.search === undefined ? 'No rows yet' : 'No results'}>
          {search.search === undefined
            ? 'Rows inserted by your worker appear here.'
            : `No ${column} in ${table.name} contains “${search.search}”.`}
        </EmptyState>
      ) : (
        <Grid
          label={`Rows of ${table.name}`}
          columns={table.columns.map(({ name, type, primaryKey }) => ({ name, type, isKey: primaryKey > 0 }))}
          rows={rows}
          order={order === undefined ? null : { column: order, isDescending: descending }}
          onOrder={(name) =>
            show({
              order: order === name && descending ? undefined : name,
              descending: order === name && !descending ? true : undefined,
              offset: undefined,
              row: undefined,
            })
          }
          onOpen={(at, clicked) => {
            setClicked(clicked);
            show({ row: at });
          }}
          selected={row ?? null}
        />
      )}
      {row !== undefined && rows[row] !== undefined && (
        <RowSheet
          key={`${offset} ${row}`}
          place={place}
          table={table}
          keyColumns={data.key}
          keyValues={(data.keys[row] ?? []) as readonly Cell[]}
          row={rows[row]}
          editedAtFirst={clicked}
          onClose={() => show({ row: undefined })}
          onStep={(step) => {
            setClicked(null);
            if (rows[row + step] !== undefined) show({ row: row + step }, true);
          }}
        />
      )}
    </>
  );
}
