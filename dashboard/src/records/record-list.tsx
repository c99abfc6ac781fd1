// A list of records from the API: loading, failed, empty, or a table. Hides records that were removed on the page.
import type { InfiniteData, UseInfiniteQueryResult, UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { CursorList, type Page } from '../components/cursor-list.tsx';
import { Table, type TableProps } from '../components/table.tsx';
import { Unloaded } from '../components/unloaded.tsx';
import { useRemoved } from './removals.ts';

interface RecordListProps<Row> extends Omit<TableProps<Row>, 'label' | 'rows'> {
  /** Plural noun in lower case: "deploy hooks". */
  readonly name: string;
  /** All records, or pages of them (`byCursor`). */
  readonly query: UseQueryResult<readonly Row[]> | UseInfiniteQueryResult<InfiniteData<Page<Row>>>;
  /** Shown if there are no records. */
  readonly empty: ReactNode;
}

/** @example <RecordList name="tokens" query={query} columns={columns} rowKey={({ id }) => id} empty={empty} /> */
export function RecordList<Row>({ name, query, empty, ...table }: RecordListProps<Row>) {
  const removed = useRemoved();
  const rowsOf = (all: readonly Row[]): ReactNode => {
    const rows = all.filter((row) => !removed.has(table.rowKey(row)));
    if (rows.length === 0) return empty;
    const label = name.charAt(0).toUpperCase() + name.slice(1);
    return <Table label={label} rows={rows} {...table} />;
  };
  if ('fetchNextPage' in query)
    return (
      <CursorList name={name} query={query} empty={empty}>
        {rowsOf}
      </CursorList>
    );
  if (query.data !== undefined) return rowsOf(query.data);
  return <Unloaded what={name} error={query.error} refetch={query.refetch} />;
}
