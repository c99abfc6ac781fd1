// The OTLP collector of a project: target, delivery status, and the form to set it.
import { Share1Icon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState, Notice } from '../../components/notice.tsx';
import { Facts } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import { AddButton } from '../../records/add-button.tsx';
import { RecordForm } from '../../records/record-form.tsx';
import { useRemoval, useRemoved } from '../../records/removals.ts';
import { SettingsPage } from './settings-page.tsx';

const LOOK_MS = 5000;

const keyOf = (id: string) => ['collector', id];

export function CollectorPage() {
  return (
    <SettingsPage
      title="Collector"
      actions={({ id }) => (
        <AddButton label="Set collector">{({ onClose }) => <SetCollector id={id} onClose={onClose} />}</AddButton>
      )}
    >
      {({ id }) => <Current id={id} />}
    </SettingsPage>
  );
}

function Current({ id }: { readonly id: string }) {
  const remove = useRemoval(keyOf(id));
  const removed = useRemoved();
  const { data, error, refetch } = useQuery({
    queryKey: keyOf(id),
    queryFn: ({ signal }) => dataOf(api.get('/projects/:id/collector', { params: { id }, signal })),
    refetchInterval: LOOK_MS,
  });
  if (data === undefined) return <Unloaded what="the collector" error={error} refetch={refetch} />;
  const { collector } = data;
  const removal = `collector of ${id}`;
  if (collector === null || removed.has(removal))
    return (
      <EmptyState
        icon={<Share1Icon />}
        title="No collector yet"
        commands={['platform collector set https://otel.example.com/v1/traces']}
      >
        Sends all spans of the project to your OpenTelemetry collector (OTLP over HTTP, JSON).
      </EmptyState>
    );
  return (
    <>
      {collector.error !== null && (
        <Notice
          tone="warning"
          title={
            collector.dropped === 0
              ? 'Spans are not sent'
              : `${collector.dropped.toLocaleString('en')} spans were dropped`
          }
        >
          <p>
            {collector.error}
            {collector.errorAt !== null && (
              <>
                , <Time at={collector.errorAt} />
              </>
            )}
          </p>
        </Notice>
      )}
      <Facts
        facts={[
          ['URL', <code key="url">{collector.url}</code>],
          ['Headers', collector.headers.length === 0 ? 'none' : collector.headers.join(', ')],
          ['Created', <Time key="set" at={collector.createdAt} />],
          ['Sent', `${collector.sent.toLocaleString('en')} spans`],
          ['Dropped', `${collector.dropped.toLocaleString('en')} spans`],
          ['Last sent', collector.sentAt === null ? null : <Time key="sent" at={collector.sentAt} />],
        ]}
      />
      <div>
        <Button
          size="small"
          onClick={() =>
            remove(removal, 'Collector removed', () =>
              dataOf(api.delete('/projects/:id/collector', { params: { id } })),
            )
          }
        >
          Remove collector
        </Button>
      </div>
    </>
  );
}

function SetCollector({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  return (
    <RecordForm
      title="Set collector"
      description="Replaces the current collector and its headers."
      action="Set collector"
      failed="Could not set the collector"
      queryKey={keyOf(id)}
      fields={{
        url: { label: 'URL', isCode: true, maxLength: 2048, placeholder: 'https://otel.example.com/v1/traces' },
        headers: {
          label: 'Headers',
          hint: 'One per line, as name: value. Values are stored encrypted and not shown again.',
          rows: 3,
          isOptional: true,
          placeholder: 'authorization: Bearer ...',
        },
      }}
      act={async ({ url, headers }) =>
        dataOf(api.put('/projects/:id/collector', { params: { id }, body: { url, headers: headersOf(headers) } }))
      }
      onClose={onClose}
    />
  );
}

/** @throws {Error} naming the line. @example headersOf('x-key: abc') // { 'x-key': 'abc' } */
function headersOf(lines: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [at, line] of lines.split('\n').entries()) {
    if (line.trim() === '') continue;
    const colon = line.indexOf(':');
    if (colon < 1) throw new Error(`Line ${at + 1} of the headers is not "name: value"`);
    headers[line.slice(0, colon).trim()] = line.slice(colon + 1).trim();
  }
  return headers;
}
