// Deliveries of a webhook in the last 30 days with the responses, and a button to resend.
import { useInfiniteQuery } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { byCursor } from '../../components/cursor-list.tsx';
import { Sheet } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { State, type Tone } from '../../components/state.tsx';
import type { Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { noteDone } from '../../components/toast.ts';
import { RecordList } from '../../records/record-list.tsx';
import { useChange } from '../../records/use-change.ts';

const LOOK_MS = 3000;

interface WebhookParams {
  /** Of the organization. */
  readonly id: string;
  readonly webhookId: string;
}

const readDeliveries = (params: WebhookParams, cursor: string | undefined, signal: AbortSignal) =>
  dataOf(
    api.get('/orgs/:id/webhooks/:webhookId/deliveries', {
      params,
      query: cursor === undefined ? {} : { cursor },
      signal,
    }),
  );
type Delivery = Awaited<ReturnType<typeof readDeliveries>>['items'][number];

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
];

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
    queryFn: ({ signal, pageParam }) => readDeliveries(params, pageParam, signal),
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
  return (
    <Sheet isOpen onClose={onClose} title="Deliveries" description={<code>{webhook.url}</code>}>
      <RecordList
        name="deliveries"
        query={query}
        columns={columns}
        rowKey={(one) => one.id}
        empty={<EmptyState title="No deliveries yet">Send a ping to test the webhook.</EmptyState>}
        actions={(one) => (
          <Button size="small" onClick={() => again.mutate(one.id)} aria-label={`Resend ${one.event}`}>
            Resend
          </Button>
        )}
      />
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
