// Deliveries of a webhook in the last 30 days with the responses, and a button to resend.
import { useInfiniteQuery } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../records/use-change.ts';
import { Button } from '../../components/button.tsx';
import { CursorList, byCursor } from '../../components/cursor-list.tsx';
import { Sheet } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { State, type Tone } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { noteDone } from '../../components/toast.tsx';

const LOOK_MS = 3000;

interface Delivery {
  readonly id: string;
  readonly event: string;
  readonly attempt: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly createdAt: string;
  readonly deliveredAt: string | null;
  readonly nextAttemptAt: string | null;
}

interface DeliveriesProps {
  readonly organizationId: string;
  readonly webhook: { readonly id: string; readonly url: string };
  readonly onClose: () => void;
}

export function Deliveries({ organizationId: id, webhook, onClose }: DeliveriesProps) {
  const queryKey = ['webhook-deliveries', webhook.id];
  const params = { id, webhookId: webhook.id };
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ signal, pageParam }) =>
      dataOf(
        api.get('/orgs/:id/webhooks/:webhookId/deliveries', {
          params,
          query: pageParam === undefined ? {} : { cursor: pageParam },
          signal,
        }),
      ),
    ...byCursor,
    refetchInterval: LOOK_MS,
  });
  const again = useChange({
    queryKey,
    act: (deliveryId: string) =>
      dataOf(
        api.post('/orgs/:id/webhooks/:webhookId/deliveries/:deliveryId/redeliver', {
          params: { ...params, deliveryId },
        }),
      ),
    failed: 'Could not resend the delivery',
    onDone: () => noteDone('Delivery resent'),
  });
  const columns: readonly Column<Delivery>[] = [
    { id: 'event', header: 'Event', phone: 'first', cell: ({ event }) => <code>{event}</code> },
    {
      id: 'state',
      header: 'Response',
      cell: (one) => {
        const [tone, words] = outcome(one);
        return (
          <span title={one.error ?? undefined}>
            <State tone={tone}>{words}</State>
          </span>
        );
      },
    },
    { id: 'at', header: 'Time', isFitted: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      id: 'again',
      header: 'Actions',
      isHeaderHidden: true,
      isFitted: true,
      phone: 'first-end',
      cell: (one) => (
        <Button size="small" onClick={() => again.mutate(one.id)} aria-label={`Resend ${one.event}`}>
          Resend
        </Button>
      ),
    },
  ];
  return (
    <Sheet isOpen onClose={onClose} title="Deliveries" description={<code>{webhook.url}</code>}>
      <CursorList
        name="deliveries"
        query={query}
        empty={<EmptyState title="No deliveries yet">Send a ping to test the webhook.</EmptyState>}
      >
        {(items) => <Table label="Deliveries" columns={columns} rows={items} rowKey={(one) => one.id} />}
      </CursorList>
    </Sheet>
  );
}

function outcome({ deliveredAt, status, error, attempt, nextAttemptAt }: Delivery): readonly [Tone, string] {
  if (deliveredAt !== null) return ['ok', String(status ?? 'delivered')];
  const said = error ?? (status === null ? 'no response' : String(status));
  if (nextAttemptAt !== null)
    return attempt === 0 ? ['running', 'pending'] : ['warning', `${said}, attempt ${attempt}, will be retried`];
  return ['failed', said];
}
