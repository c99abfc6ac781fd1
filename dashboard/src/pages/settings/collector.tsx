// The OTLP collector of a project: target, delivery status, and the form to set it.
import { PlusIcon, Share1Icon } from '@radix-ui/react-icons';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { wordsOf } from '../../api/failure.ts';
import { useChange } from '../../records/use-change.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field, Input, TextArea } from '../../components/field.tsx';
import { EmptyState, ErrorState, Notice } from '../../components/notice.tsx';
import { Facts } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Time } from '../../components/time.tsx';
import type { Project } from '../../queries/account.ts';
import { removeLater, useRemoved } from '../../records/removals.ts';
import { SettingsPage } from './settings-page.tsx';

const LOOK_MS = 5000;

const keyOf = (id: string) => ['collector', id];

export function CollectorPage() {
  const [isSetting, setSetting] = useState(false);
  return (
    <SettingsPage
      title="Collector"
      actions={
        <Button variant="primary" onClick={() => setSetting(true)}>
          <PlusIcon /> Set collector
        </Button>
      }
    >
      {(project) => (
        <>
          <Current project={project} />
          {isSetting && <SetCollector project={project} onClose={() => setSetting(false)} />}
        </>
      )}
    </SettingsPage>
  );
}

function Current({ project }: { readonly project: Project }) {
  const { id } = project;
  const client = useQueryClient();
  const removed = useRemoved();
  const { data, error, isPending, refetch } = useQuery({
    queryKey: keyOf(id),
    queryFn: ({ signal }) => dataOf(api.get('/projects/:id/collector', { params: { id }, signal })),
    refetchInterval: LOOK_MS,
  });
  if (isPending) return <SkeletonRows />;
  if (data === undefined)
    return <ErrorState title="Could not load the collector" error={error} onRetry={() => void refetch()} />;
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
        <Notice tone="warning" title={`${collector.dropped.toLocaleString('en')} spans were dropped`}>
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
            removeLater(
              removal,
              'Collector removed',
              () => dataOf(api.delete('/projects/:id/collector', { params: { id } })),
              () => client.invalidateQueries({ queryKey: keyOf(id) }),
            )
          }
        >
          Remove collector
        </Button>
      </div>
    </>
  );
}

function SetCollector({ project, onClose }: { readonly project: Project; readonly onClose: () => void }) {
  const [url, setUrl] = useState('');
  const [lines, setLines] = useState('');
  const [error, setError] = useState<string | null>(null);
  const set = useChange({
    queryKey: keyOf(project.id),
    failed: 'Could not set the collector',
    act: async () => {
      try {
        const body = { url, headers: headersOf(lines) };
        return await dataOf(api.put('/projects/:id/collector', { params: { id: project.id }, body }));
      } catch (failure) {
        setError(wordsOf(failure));
        throw failure;
      }
    },
    onDone: onClose,
  });
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Set collector"
      description="Replaces the current collector and its headers."
      onSubmit={() => set.mutate(undefined)}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" isPending={set.isPending}>
            Set collector
          </Button>
        </>
      }
    >
      <Field label="URL" error={error}>
        {(control) => (
          <Input
            {...control}
            isCode
            required
            autoFocus
            maxLength={2048}
            placeholder="https://otel.example.com/v1/traces"
            value={url}
            onChange={({ target }) => setUrl(target.value)}
          />
        )}
      </Field>
      <Field label="Headers" hint="One per line, as name: value. Values are stored encrypted and not shown again.">
        {(control) => (
          <TextArea
            {...control}
            rows={3}
            placeholder="authorization: Bearer ..."
            value={lines}
            onChange={({ target }) => setLines(target.value)}
          />
        )}
      </Field>
    </Dialog>
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
