// Schedules of platform.yaml: next run, last run with its result, run now.
import { useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { State } from '../../components/state.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import { branchOf, schedulesQuery, type ResourcePlace } from '../../queries/resources.ts';
import { AreaPage } from '../storage/binding-page.tsx';
import { useChanges } from '../storage/changes.tsx';
import { jobsArea, scheduleKind } from '../storage/kinds.ts';
import styles from '../storage/storage.module.css';

export function SchedulesPage() {
  return (
    <AreaPage area={jobsArea} kind={scheduleKind}>
      {(place) => <Schedules place={place} />}
    </AreaPage>
  );
}

function Schedules({ place }: { readonly place: ResourcePlace }) {
  const { data, error, refetch } = useQuery(schedulesQuery(place));
  const { change, isPending, question } = useChanges(place);
  if (data === undefined) return <Unloaded what="the schedules" error={error} refetch={refetch} />;
  if (data.items.length === 0)
    return (
      <EmptyState title="No schedules yet">
        {place.branch === null
          ? 'Add a schedule to platform.yaml to run the scheduled handler of your worker:'
          : 'Schedules run only in production.'}
        {place.branch === null && <code className={styles.yaml}>{"cron: { NIGHTLY: '0 3 * * *' }"}</code>}
      </EmptyState>
    );
  return (
    <>
      <Table
        label="Schedules"
        rows={data.items}
        rowKey={({ name }) => name}
        columns={[
          {
            id: 'name',
            header: 'Schedule',
            phone: 'first',
            cell: ({ name }) => <span className={styles.mono}>{name}</span>,
          },
          {
            id: 'cron',
            header: 'Cron',
            cell: ({ schedule, timezone }) => (
              <span className={styles.mono}>
                {schedule} {timezone}
              </span>
            ),
          },
          {
            id: 'next',
            header: 'Next run',
            isLabelled: true,
            isFitted: true,
            cell: ({ nextAt }) => <Time at={nextAt} />,
          },
          {
            id: 'last',
            header: 'Last run',
            isLabelled: true,
            isFitted: true,
            cell: ({ lastAt }) =>
              lastAt === null ? <span className={styles.faint}>never</span> : <Time at={lastAt} />,
          },
          {
            id: 'outcome',
            header: 'Result',
            isFitted: true,
            cell: ({ lastOutcome }) =>
              lastOutcome === null ? '' : <State tone={lastOutcome === 'ok' ? 'ok' : 'failed'}>{lastOutcome}</State>,
          },
        ]}
        actions={({ name }) => (
          <Button
            size="small"
            aria-label={`Run now: ${name}`}
            isPending={isPending}
            onClick={() =>
              change({
                done: `${name} started`,
                failed: `Could not run ${name}`,
                act: () =>
                  dataOf(
                    api.post('/projects/:id/schedules/run', {
                      params: { id: place.id },
                      query: { ...branchOf(place), name },
                    }),
                  ),
              })
            }
          >
            Run now
          </Button>
        )}
      />
      {question}
    </>
  );
}
