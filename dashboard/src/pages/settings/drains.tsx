// Log drains of a project: target, delivery status, test.
import { DotsHorizontalIcon, PaperPlaneIcon, PlusIcon } from '@radix-ui/react-icons';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../records/use-change.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { Menu, MenuItem } from '../../components/menu.tsx';
import { EmptyState, ErrorState } from '../../components/notice.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { State, type Tone } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { noteDone, noteFailed } from '../../components/toast.tsx';
import type { Project } from '../../queries/account.ts';
import { removeLater, useRemoved } from '../../records/removals.ts';
import { NewDrain } from './new-drain.tsx';
import styles from './settings.module.css';
import { SettingsPage } from './settings-page.tsx';

const LOOK_MS = 5000;
const states: Readonly<Record<Drain['state'], readonly [tone: Tone, word: string]>> = {
  on: ['ok', 'Enabled'],
  retrying: ['warning', 'Retrying'],
  paused: ['failed', 'Paused'],
  off: ['neutral', 'Disabled'],
};

const readDrains = (id: string, signal: AbortSignal) =>
  dataOf(api.get('/projects/:id/drains', { params: { id }, signal }));
type Drain = Awaited<ReturnType<typeof readDrains>>[number];

export function DrainsPage() {
  const [isMaking, setMaking] = useState(false);
  return (
    <SettingsPage
      title="Log drains"
      actions={
        <Button variant="primary" onClick={() => setMaking(true)}>
          <PlusIcon /> New drain
        </Button>
      }
    >
      {(project) => (
        <>
          <Drains project={project} />
          {isMaking && <NewDrain projectId={project.id} onClose={() => setMaking(false)} />}
        </>
      )}
    </SettingsPage>
  );
}

function Drains({ project: { id } }: { readonly project: Project }) {
  const queryKey = ['drains', id];
  const client = useQueryClient();
  const removed = useRemoved();
  const { data, error, isPending, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => readDrains(id, signal),
    refetchInterval: LOOK_MS,
  });
  const change = useChange({
    queryKey,
    act: ({ drainId, enabled }: { readonly drainId: string; readonly enabled: boolean }) =>
      dataOf(api.patch('/projects/:id/drains/:drainId', { params: { id, drainId }, body: { enabled } })),
    failed: 'Could not update the drain',
  });
  const tryOut = useChange({
    queryKey,
    act: (drainId: string) => dataOf(api.post('/projects/:id/drains/:drainId/test', { params: { id, drainId } })),
    failed: 'Could not send the test',
    onDone: ({ ok, error: said }) =>
      ok ? noteDone('Test delivered') : noteFailed('Test delivery failed', new Error(said ?? '')),
  });
  if (isPending) return <SkeletonRows />;
  if (data === undefined)
    return <ErrorState title="Could not load the log drains" error={error} onRetry={() => void refetch()} />;
  const rows = data.filter((one) => !removed.has(one.id));
  if (rows.length === 0)
    return (
      <EmptyState icon={<PaperPlaneIcon />} title="No log drains yet">
        A drain forwards the logs of this project by HTTP or to an S3 bucket.
      </EmptyState>
    );
  const columns: readonly Column<Drain>[] = [
    { id: 'name', header: 'Name', phone: 'first', cell: ({ name }) => name },
    { id: 'target', header: 'Target', cell: (one) => <code title={targetOf(one)}>{targetOf(one)}</code> },
    { id: 'lines', header: 'Lines', isExtra: true, cell: (one) => linesOf(one) },
    {
      id: 'state',
      header: 'Status',
      cell: ({ state, error: said }) => (
        <div style={{ whiteSpace: 'normal', padding: '4px 0' }}>
          <State tone={states[state][0]}>{states[state][1]}</State>
          {said !== null && <p className={styles.soft}>{said}</p>}
        </div>
      ),
    },
    {
      id: 'delivered',
      header: 'Last delivery',
      isFitted: true,
      cell: ({ deliveredAt, deliveredLines }) =>
        deliveredAt === null ? (
          'none yet'
        ) : (
          <span title={`${deliveredLines} lines in total`}>
            <Time at={deliveredAt} />
          </span>
        ),
    },
    {
      id: 'actions',
      header: 'Actions',
      isHeaderHidden: true,
      isFitted: true,
      phone: 'first-end',
      cell: (drain) => {
        const isSending = drain.state === 'on' || drain.state === 'retrying';
        return (
          <Menu
            trigger={
              <IconButton label={`Actions for ${drain.name}`} size="small">
                <DotsHorizontalIcon />
              </IconButton>
            }
          >
            <MenuItem onSelect={() => tryOut.mutate(drain.id)}>Send test</MenuItem>
            <MenuItem onSelect={() => change.mutate({ drainId: drain.id, enabled: !isSending })}>
              {isSending ? 'Disable' : drain.state === 'paused' ? 'Resume' : 'Enable'}
            </MenuItem>
            <MenuItem
              isDanger
              onSelect={() =>
                removeLater(
                  drain.id,
                  `Drain ${drain.name} deleted`,
                  () => dataOf(api.delete('/projects/:id/drains/:drainId', { params: { id, drainId: drain.id } })),
                  () => client.invalidateQueries({ queryKey }),
                )
              }
            >
              Delete
            </MenuItem>
          </Menu>
        );
      },
    },
  ];
  return <Table label="Log drains" columns={columns} rows={rows} rowKey={(one) => one.id} />;
}

function targetOf({ target }: Drain): string {
  return target.kind === 's3' ? `s3://${[target.bucket, target.prefix].filter(Boolean).join('/')}` : target.url;
}

function linesOf({ level, kinds, branch }: Drain): string {
  const parts = [level === 'debug' ? 'all levels' : `${level} and above`, kinds?.join(', '), branch];
  return parts.filter((part) => part !== null && part !== undefined).join('; ');
}
