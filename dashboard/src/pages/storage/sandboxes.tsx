// Sandboxes of a binding, with the actions suspend, resume, destroy and unexpose.
import { useInfiniteQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { CursorList } from '../../components/cursor-list.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { State, type Tone } from '../../components/state.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { branchOf, sandboxesQuery, type BindingPlace } from '../../queries/resources.ts';
import type { ListSearch } from '../../queries/resource-search.ts';
import { AreaPage } from './binding-page.tsx';
import { targetOf, useChanges } from './changes.tsx';
import { bindingKind, storageArea } from './kinds.ts';
import { PrefixField } from './prefix-field.tsx';
import { SandboxPorts } from './sandbox-ports.tsx';
import styles from './storage.module.css';

export function SandboxesPage() {
  return (
    <AreaPage area={storageArea} kind={bindingKind('sandbox')}>
      {(place) => <Sandboxes key={`${place.binding} ${place.branch ?? ''}`} place={place} />}
    </AreaPage>
  );
}

const tones: Readonly<Record<string, Tone>> = {
  creating: 'running',
  running: 'ok',
  suspended: 'neutral',
  stopped: 'neutral',
  error: 'failed',
};

function Sandboxes({ place }: { readonly place: BindingPlace }) {
  const { prefix = '' } = useSearch({ strict: false }) as ListSearch;
  const query = useInfiniteQuery(sandboxesQuery(place, prefix));
  const { change, isPending, question } = useChanges(place);
  const [destroyed, setDestroyed] = useState<string | null>(null);
  const [portsOf, setPortsOf] = useState<string | null>(null);
  const one = (sandbox: string) => ({
    params: { id: place.id, binding: place.binding, sandbox },
    query: branchOf(place),
  });
  return (
    <>
      <div className={styles.bar} role="search">
        <PrefixField label="ID prefix" />
      </div>
      <CursorList
        name="sandboxes"
        query={query}
        empty={
          <EmptyState title={prefix === '' ? 'No sandboxes yet' : 'No results'}>
            {prefix === '' &&
              `To create a sandbox, call \`await env.${place.binding}.get('user-1').exec('echo hello')\` in your worker.`}
          </EmptyState>
        }
      >
        {(items) => (
          <Table
            label="Sandboxes"
            rows={items}
            rowKey={({ id }) => id}
            columns={[
              {
                id: 'id',
                header: 'ID',
                phone: 'first',
                cell: ({ id }) => <span className={styles.mono}>{id}</span>,
              },
              {
                id: 'state',
                header: 'Status',
                phone: 'first-end',
                isFitted: true,
                cell: ({ state }) => <State tone={tones[state] ?? 'neutral'}>{state}</State>,
              },
              { id: 'provider', header: 'Provider', isFitted: true, isExtra: true, cell: ({ provider }) => provider },
              {
                id: 'machine',
                header: 'Machine',
                isFitted: true,
                cell: ({ machine }) => machine ?? <span className={styles.faint}>default</span>,
              },
              {
                id: 'active',
                header: 'Last active',
                isLabelled: true,
                isFitted: true,
                cell: ({ lastActiveAt }) => <Time at={lastActiveAt} />,
              },
            ]}
            actions={({ id, state }) => (
              <span className={styles.buttons}>
                <Button size="small" aria-label={`Ports of ${id}`} onClick={() => setPortsOf(id)}>
                  Ports
                </Button>
                {state === 'running' ? (
                  <Button
                    size="small"
                    isPending={isPending}
                    aria-label={`Suspend ${id}`}
                    onClick={() =>
                      change({
                        done: `${id} suspended`,
                        failed: `Could not suspend ${id}`,
                        act: () => dataOf(api.post('/projects/:id/sandboxes/:binding/:sandbox/suspend', one(id))),
                      })
                    }
                  >
                    Suspend
                  </Button>
                ) : (
                  <Button
                    size="small"
                    isPending={isPending}
                    aria-label={`Resume ${id}`}
                    onClick={() =>
                      change({
                        done: `${id} resumed`,
                        failed: `Could not resume ${id}`,
                        act: () => dataOf(api.post('/projects/:id/sandboxes/:binding/:sandbox/resume', one(id))),
                      })
                    }
                  >
                    Resume
                  </Button>
                )}
                <Button size="small" variant="ghost" aria-label={`Destroy ${id}`} onClick={() => setDestroyed(id)}>
                  Destroy
                </Button>
              </span>
            )}
          />
        )}
      </CursorList>
      <Confirm
        isOpen={destroyed !== null}
        onClose={() => setDestroyed(null)}
        title={`Destroy ${destroyed ?? ''}?`}
        action="Destroy"
        isDanger
        onConfirm={() => {
          const id = destroyed!;
          setDestroyed(null);
          change({
            done: `${id} destroyed`,
            failed: `Could not destroy ${id}`,
            act: () => dataOf(api.delete('/projects/:id/sandboxes/:binding/:sandbox', one(id))),
          });
        }}
      >
        Deletes its files and stops its processes ({targetOf(place)}). The next call with this ID creates a new sandbox.
      </Confirm>
      <SandboxPorts
        place={place}
        sandbox={portsOf}
        onClose={() => setPortsOf(null)}
        change={change}
        isPending={isPending}
      />
      {question}
    </>
  );
}
