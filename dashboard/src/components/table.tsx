// A table of records. On phones each row becomes two lines: the `first` columns, then the others. Long tables render
// only the rows near the viewport; the code for this is loaded with the first long table.
import { lazy, Suspense, type ComponentType } from 'react';
import { TableFrame, type Column, type ShownRows, type TableProps } from './table-frame.tsx';

export type { Column, TableProps };

const LongTable = lazy(() => import('./long-table.tsx'));
/** Tables with more rows are virtualized. */
const WHOLE_MAX = 200;
/** Rows that a long table shows until it is loaded. */
const FIRST_ROWS = 60;

/** @example <Table label="Deployments" columns={columns} rows={rows} rowKey={({ id }) => id} onOpen={open} /> */
export function Table<Row>(props: TableProps<Row>) {
  const count = props.rows.length;
  if (count <= WHOLE_MAX) return <TableFrame {...props} shown={firstRows(count, count)} />;
  // A lazy component has no type parameter.
  const Long = LongTable as ComponentType<TableProps<Row>>;
  return (
    <Suspense fallback={<TableFrame {...props} shown={firstRows(FIRST_ROWS, count)} />}>
      <Long {...props} />
    </Suspense>
  );
}

const firstRows = (to: number, count: number): ShownRows => ({
  from: 0,
  to,
  beforePx: 0,
  afterPx: 0,
  isPart: to < count,
  measure: undefined,
});
