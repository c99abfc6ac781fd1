// The machine on the operator's page: CPU, memory, disk and engines; and the busiest and most failing projects.
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { api, dataOf } from '../../api/client.ts';
import { Notice } from '../../components/notice.tsx';
import { Section } from '../../components/page.tsx';
import { State } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { countText, sentenceText } from '../../components/text.ts';
import { Unloaded } from '../../components/unloaded.tsx';
import { shareText } from '../../queries/usage.ts';
import { Meter } from '../analytics/usage.tsx';
import styles from '../analytics/usage.module.css';
import { ProjectLoads } from '../organization/project-load.tsx';
import { bytesText } from '../storage/value.tsx';

const LOOK_MS = 15_000;

const readOverview = (signal: AbortSignal) => dataOf(api.get('/operator/overview', { signal }));
type Overview = Awaited<ReturnType<typeof readOverview>>;
type Engine = NonNullable<Overview['engines']>[number];

export function Machine() {
  const { order = 'requests' } = useSearch({ from: '/operator/health' });
  const navigate = useNavigate({ from: '/operator/health' });
  const { data, error, refetch } = useQuery({
    queryKey: ['operator-overview'],
    queryFn: ({ signal }) => readOverview(signal),
    refetchInterval: LOOK_MS,
  });
  if (data === undefined) return <Unloaded what="the machine" error={error} refetch={refetch} />;
  return (
    <>
      <Section title="Machine">
        <Meters machine={data.machine} />
      </Section>
      <Section title="Engines">
        {data.engines === null ? (
          <Notice tone="failed" title="The handler does not respond" />
        ) : (
          <Table
            label="Engines"
            columns={engineColumns}
            rows={data.engines.toSorted((one, other) => one.id - other.id)}
            // Engines of several machines may have one id.
            rowKey={(engine) => String(data.engines!.indexOf(engine))}
          />
        )}
      </Section>
      {data.projects.length > 0 && (
        <ProjectLoads
          title="Projects, last hour"
          loads={data.projects}
          order={order}
          onOrder={(next) => void navigate({ search: { order: next } })}
        />
      )}
    </>
  );
}

function Meters({ machine }: { readonly machine: Overview['machine'] }) {
  const { cores, load, memoryBytes, memoryFreeBytes, diskBytes, diskFreeBytes } = machine;
  const meters = [
    ['CPU load', load / cores, `load ${load.toFixed(1)} on ${cores} ${cores === 1 ? 'core' : 'cores'}`],
    ['Memory', 1 - memoryFreeBytes / memoryBytes, `${bytesText(memoryFreeBytes)} of ${bytesText(memoryBytes)} free`],
    ['Disk', 1 - diskFreeBytes / diskBytes, `${bytesText(diskFreeBytes)} of ${bytesText(diskBytes)} free`],
  ] as const;
  return (
    <div className={styles.bars}>
      {meters.map(([name, share, words]) => (
        <Meter key={name} name={name} share={share} note={shareText(share)} label={`${name}: ${shareText(share)}`}>
          <span>{words}</span>
        </Meter>
      ))}
    </div>
  );
}

const engineColumns: readonly Column<Engine>[] = [
  { id: 'id', header: 'Engine', phone: 'first', cell: ({ id, role }) => `${id}, ${role}` },
  {
    id: 'state',
    header: 'Status',
    isFitted: true,
    phone: 'first-end',
    cell: ({ state }) => (
      <State tone={state === 'listening' || state === 'ready' ? 'ok' : 'running'}>{sentenceText(state)}</State>
    ),
  },
  { id: 'load', header: 'Requests now', align: 'end', isFitted: true, cell: ({ load }) => countText(load) },
  { id: 'memory', header: 'Memory', align: 'end', isFitted: true, cell: ({ rssBytes }) => bytesText(rssBytes) },
  { id: 'restarts', header: 'Replaced', align: 'end', isFitted: true, cell: ({ restarts }) => countText(restarts) },
];
