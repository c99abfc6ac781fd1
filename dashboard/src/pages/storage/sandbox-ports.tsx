// Exposed ports of a sandbox: URL, access, unexpose.
import { useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { Sheet } from '../../components/dialog.tsx';
import { EmptyState, ErrorState } from '../../components/notice.tsx';
import { Table } from '../../components/table.tsx';
import { branchOf, sandboxPortsQuery, type BindingPlace } from '../../queries/resources.ts';
import type { Change } from './changes.tsx';

interface SandboxPortsProps {
  readonly place: BindingPlace;
  /** Null: closed. */
  readonly sandbox: string | null;
  readonly onClose: () => void;
  readonly change: (change: Change) => void;
  readonly isPending: boolean;
}

export function SandboxPorts({ place, sandbox, onClose, change, isPending }: SandboxPortsProps) {
  const { data, error } = useQuery({ ...sandboxPortsQuery(place, sandbox ?? ''), enabled: sandbox !== null });
  return (
    <Sheet isOpen={sandbox !== null} onClose={onClose} title={`Exposed ports of ${sandbox ?? ''}`}>
      {error !== null && <ErrorState title="Could not load the ports" error={error} />}
      {data?.items.length === 0 && (
        <EmptyState title="No exposed ports">
          {`To expose a port, call \`await env.${place.binding}.get('${sandbox}').exposePort(8080)\` in your worker.`}
        </EmptyState>
      )}
      {data !== undefined && data.items.length > 0 && (
        <Table
          label="Exposed ports"
          rows={data.items}
          rowKey={({ port }) => String(port)}
          columns={[
            {
              id: 'port',
              header: 'Port',
              phone: 'first',
              isFitted: true,
              cell: ({ port, name }) => `${port} ${name ?? ''}`,
            },
            {
              id: 'url',
              header: 'URL',
              cell: ({ url }) => (
                <a href={url} rel="noreferrer" target="_blank">
                  {url}
                </a>
              ),
            },
            {
              id: 'auth',
              header: 'Access',
              isFitted: true,
              cell: ({ auth }) => auth,
            },
          ]}
          actions={({ port }) => (
            <Button
              size="small"
              variant="danger"
              isPending={isPending}
              aria-label={`Unexpose ${port}`}
              onClick={() =>
                change({
                  done: `Port ${port} unexposed`,
                  failed: `Could not unexpose port ${port}`,
                  act: () =>
                    dataOf(
                      api.delete('/projects/:id/sandboxes/:binding/:sandbox/ports/:port', {
                        params: { id: place.id, binding: place.binding, sandbox: sandbox!, port },
                        query: branchOf(place),
                      }),
                    ),
                })
              }
            >
              Unexpose
            </Button>
          )}
        />
      )}
    </Sheet>
  );
}
