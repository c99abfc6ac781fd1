// Slow statements of a database.
import { useQuery } from '@tanstack/react-query';
import { EmptyState } from '../../components/notice.tsx';
import { countText } from '../../components/text.ts';
import { Table } from '../../components/table.tsx';
import { durationText, Time } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import { slowQuery, type BindingPlace } from '../../queries/resources.ts';
import styles from './storage.module.css';

export function SlowStatements({ place }: { readonly place: BindingPlace }) {
  const { data, error, refetch } = useQuery(slowQuery(place));
  if (data === undefined) return <Unloaded what="the slow queries" error={error} refetch={refetch} />;
  if (data.items.length === 0)
    return (
      <EmptyState title="No slow queries">
        Statements of 10 ms and more appear here, since the database was last opened.
      </EmptyState>
    );
  return (
    <Table
      label="Slow queries"
      rows={data.items}
      rowKey={({ sql }) => sql}
      columns={[
        {
          id: 'sql',
          header: 'Statement',
          phone: 'first',
          cell: ({ sql }) => <span className={styles.mono}>{sql}</span>,
        },
        { id: 'all', header: 'Total', align: 'end', isFitted: true, cell: ({ msTotal }) => durationText(msTotal) },
        { id: 'max', header: 'Max', align: 'end', isFitted: true, cell: ({ msMax }) => durationText(msMax) },
        { id: 'count', header: 'Runs', align: 'end', isFitted: true, cell: ({ count }) => countText(count) },
        {
          id: 'rows',
          header: 'Rows per run',
          align: 'end',
          isFitted: true,
          phone: 'hidden',
          cell: ({ rowsRead, count }) => countText(Math.round(rowsRead / count)),
        },
        {
          id: 'last',
          header: 'Last run',
          isLabelled: true,
          isFitted: true,
          cell: ({ lastAt }) => <Time at={lastAt} />,
        },
      ]}
    />
  );
}
