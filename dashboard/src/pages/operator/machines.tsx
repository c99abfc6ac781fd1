// Machines of the installation, for the operator: their parts, free resources and status, with actions to drain and
// remove them.
import { useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { ActionsMenu, MenuItem } from '../../components/menu.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Notice } from '../../components/notice.tsx';
import { Page, Section } from '../../components/page.tsx';
import { State } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import { useChange } from '../../records/use-change.ts';
import { bytesText } from '../storage/value.tsx';

const LOOK_MS = 2000;
const queryKey = ['operator-machines'];

const readMachines = async (signal: AbortSignal) => (await dataOf(api.get('/operator/machines', { signal }))).items;
type Machine = Awaited<ReturnType<typeof readMachines>>[number];

const states = {
  up: ['ok', 'Up'],
  draining: ['running', 'Draining'],
  drained: ['neutral', 'Drained'],
  lost: ['failed', 'Lost'],
} as const;

const columns: readonly Column<Machine>[] = [
  { id: 'name', header: 'Name', phone: 'first', isFitted: true, cell: ({ name }) => <strong>{name}</strong> },
  {
    id: 'status',
    header: 'Status',
    isFitted: true,
    phone: 'first-end',
    cell: ({ status }) => <State tone={states[status][0]}>{states[status][1]}</State>,
  },
  {
    id: 'address',
    isExtra: true,
    header: 'Address',
    cell: ({ upstream, privateOrigin }) => <code>{upstream ?? privateOrigin ?? 'this machine only'}</code>,
  },
  {
    id: 'parts',
    header: 'Runs',
    cell: ({ parts }) => <div style={{ whiteSpace: 'normal', padding: '4px 0' }}>{parts.join(', ')}</div>,
  },
  { id: 'version', isExtra: true, header: 'Version', isLabelled: true, isFitted: true, cell: ({ version }) => version },
  {
    id: 'memory',
    header: 'Memory free',
    isLabelled: true,
    isFitted: true,
    cell: ({ memoryFreeBytes, memoryBytes }) => `${bytesText(memoryFreeBytes)} of ${bytesText(memoryBytes)}`,
  },
  {
    id: 'disk',
    header: 'Disk free',
    isLabelled: true,
    isFitted: true,
    cell: ({ diskFreeBytes, diskBytes }) => `${bytesText(diskFreeBytes)} of ${bytesText(diskBytes)}`,
  },
  { id: 'seen', header: 'Last seen', isLabelled: true, isFitted: true, cell: ({ seenAt }) => <Time at={seenAt} /> },
];

export function MachinesPage() {
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => readMachines(signal),
    refetchInterval: LOOK_MS,
  });
  const [chosen, setChosen] = useState<{ readonly machine: string; readonly action: 'drain' | 'remove' } | null>(null);
  const drain = useChange({
    queryKey,
    act: (name: string) => dataOf(api.post('/operator/machines/:name/drain', { params: { name } })),
    failed: 'Could not drain the machine',
  });
  const remove = useChange({
    queryKey,
    act: (name: string) => dataOf(api.delete('/operator/machines/:name', { params: { name } })),
    failed: 'Could not remove the machine',
  });
  const lost = (data ?? []).filter(({ status }) => status === 'lost').map(({ name }) => name);
  const isDrain = chosen?.action === 'drain';
  return (
    <Page title="Machines" description="Machines of this installation, as they announce themselves">
      {data === undefined && <Unloaded what="the machines" error={error} refetch={refetch} />}
      {lost.length > 0 && (
        <Notice tone="failed" title={`Lost: ${lost.join(', ')}`}>
          <p>Requests go to the other machines. Start the machine again, or remove it.</p>
        </Notice>
      )}
      {data !== undefined && (
        <Table
          label="Machines"
          columns={columns}
          rows={data}
          rowKey={({ name }) => name}
          actions={({ name, status, parts }) => (
            <ActionsMenu of={name}>
              <MenuItem
                isDisabled={status !== 'up' || !parts.includes('handler') || data.length === 1}
                onSelect={() => setChosen({ machine: name, action: 'drain' })}
              >
                Drain
              </MenuItem>
              <MenuItem
                isDanger
                isDisabled={status !== 'lost' && status !== 'drained'}
                onSelect={() => setChosen({ machine: name, action: 'remove' })}
              >
                Remove
              </MenuItem>
            </ActionsMenu>
          )}
        />
      )}
      <Confirm
        isOpen={chosen !== null}
        onClose={() => setChosen(null)}
        title={`${isDrain ? 'Drain' : 'Remove'} ${chosen?.machine ?? ''}?`}
        action={isDrain ? 'Drain machine' : 'Remove machine'}
        isDanger={!isDrain}
        onConfirm={() => {
          (isDrain ? drain : remove).mutate(chosen!.machine);
          setChosen(null);
        }}
      >
        {isDrain
          ? 'The machine gets no new requests, running requests finish, and its WebSockets close. To use the machine again, restart it.'
          : 'If the machine still runs, it stops.'}
      </Confirm>
      <Section title="Add a machine">
        <CodeBlock code="platform machines token" isCommand />
        <CodeBlock code="platform join --name m2 --address 10.0.0.2" isCommand />
      </Section>
    </Page>
  );
}
