// Requests and events of `platform dev`, with details: headers, timing, logs, and replay.
import { ReloadIcon, TrashIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ask } from '../../api/client.ts';
import { Button, IconButton, OutsideLink } from '../../components/button.tsx';
import { Sheet } from '../../components/dialog.tsx';
import { Input, Select } from '../../components/field.tsx';
import { EmptyState, ErrorState, Notice } from '../../components/notice.tsx';
import { countText } from '../../components/text.ts';
import { Facts, Filters, Page } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { State, type Tone } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { durationText, Time } from '../../components/time.tsx';
import { noteDone, noteFailed } from '../../components/toast.ts';
import type { DevSearch } from '../../queries/dev-search.ts';
import { useProject } from '../../shell/use-place.ts';
import styles from '../storage/storage.module.css';
import { clearActivity, useActivity, type Activity } from './activity.ts';
import { Lines } from './lines.tsx';

/** Maximum rows shown; filters find the others. */
const SHOWN_MAX = 300;

type Ended = Activity & { readonly type: 'request' | 'event' };

const kinds = [
  ['', 'Requests'],
  ['queue', 'Messages'],
  ['timer', 'Timers'],
  ['cron', 'Schedules'],
  ['workflow', 'Workflow runs'],
  ['all', 'All'],
] as const;

export function DevRequestsPage() {
  const { kind = '', search = '', failed = false, request } = useSearch({ strict: false }) as DevSearch;
  const navigate = useNavigate();
  const { records, isLive } = useActivity();
  const { data: project } = useProject();
  const show = (next: DevSearch, replace = false): void =>
    void navigate({ to: '.', search: (before: object) => ({ ...before, ...next }), replace } as never);
  const ended = (records ?? []).filter((one): one is Ended => one.type === 'request' || one.type === 'event');
  const found = ended.filter(
    (one) =>
      (kind === 'all' || (kind === '' ? one.type === 'request' : one.type === 'event' && one.kind === kind)) &&
      (!failed || toneOf(one) === 'failed') &&
      (search === '' || wordsOf(one).toLowerCase().includes(search.toLowerCase())),
  );
  const shown = found.slice(-SHOWN_MAX).toReversed();
  const opened = shown.findIndex(({ seq }) => seq === request);
  return (
    <Page
      title="Requests"
      isWide
      actions={
        project !== undefined && (
          <OutsideLink href={project.deploymentUrl ?? '#'}>
            Open {new URL(project.deploymentUrl ?? 'http://localhost').host}
          </OutsideLink>
        )
      }
    >
      <Filters>
        <Select
          aria-label="Type"
          value={kind}
          onChange={({ target }) => show({ kind: target.value === '' ? undefined : target.value, request: undefined })}
        >
          {kinds.map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </Select>
        <Select
          aria-label="Status"
          value={failed ? 'failed' : ''}
          onChange={({ target }) => show({ failed: target.value === 'failed' || undefined, request: undefined })}
        >
          <option value="">Any status</option>
          <option value="failed">Failed</option>
        </Select>
        <Input
          type="search"
          aria-label="Method, path or name"
          placeholder="Method, path or name…"
          value={search}
          onChange={({ target }) => show({ search: target.value === '' ? undefined : target.value }, true)}
        />
        <State tone={isLive ? 'ok' : 'warning'}>{isLive ? 'Live' : 'Connecting'}</State>
        <IconButton
          label="Clear"
          disabled={ended.length === 0}
          onClick={() =>
            void ask('DELETE', '/activity').then(clearActivity, (error: unknown) =>
              noteFailed('Could not clear the requests', error),
            )
          }
        >
          <TrashIcon />
        </IconButton>
      </Filters>
      {records === null ? (
        <SkeletonRows />
      ) : shown.length === 0 ? (
        <EmptyState
          title={search !== '' || failed || kind !== '' ? 'No results' : 'No requests yet'}
          commands={
            search === '' && !failed && kind === '' && project?.deploymentUrl != null
              ? [`curl ${project.deploymentUrl}/`]
              : []
          }
        >
          {kind === '' && ended.length > 0
            ? 'To see events of queues, timers, schedules and workflows, change the first filter.'
            : 'Requests appear here when they finish, with headers, timing and logs.'}
        </EmptyState>
      ) : (
        <Table
          label="Requests"
          rows={shown}
          rowKey={({ seq }) => String(seq)}
          onOpen={({ seq }) => show({ request: seq })}
          selectedKey={request === undefined ? null : String(request)}
          columns={columns}
        />
      )}
      {found.length > shown.length && (
        <p className={styles.faint}>
          The newest {SHOWN_MAX} of {countText(found.length)}: the filter finds the others.
        </p>
      )}
      {opened >= 0 && (
        <EndedSheet
          key={request}
          ended={shown[opened]!}
          records={records ?? []}
          onClose={() => show({ request: undefined })}
          onStep={(step) => {
            const next = shown[opened + step];
            if (next !== undefined) show({ request: next.seq }, true);
          }}
        />
      )}
    </Page>
  );
}

function wordsOf(one: Ended): string {
  return one.type === 'request'
    ? `${one.method} ${one.path} ${one.status} ${one.outcome}`
    : `${one.kind} ${one.name} ${one.id} ${one.outcome}`;
}

function toneOf(one: Ended): Tone {
  if (one.outcome !== 'ok') return 'failed';
  if (one.type === 'event') return 'ok';
  return one.status >= 500 ? 'failed' : one.status >= 400 ? 'warning' : 'ok';
}

function endText(one: Ended): string {
  if (one.type === 'event') return one.outcome === 'ok' ? 'OK' : one.outcome.replaceAll('_', ' ');
  return one.outcome === 'ok' ? String(one.status) : `${one.status} ${one.outcome.replaceAll('_', ' ')}`;
}

const columns: readonly Column<Ended>[] = [
  {
    id: 'what',
    header: 'Request',
    phone: 'first',
    cell: (one) => (
      <span className={`${styles.mono} ${styles.line}`} title={wordsOf(one)}>
        {one.type === 'request' ? `${one.method} ${one.path}` : `${one.kind} ${one.name} ${one.id}`}
      </span>
    ),
  },
  {
    id: 'ended',
    header: 'Status',
    isFitted: true,
    phone: 'first-end',
    cell: (one) => <State tone={toneOf(one)}>{endText(one)}</State>,
  },
  { id: 'wall', header: 'Duration', align: 'end', isFitted: true, cell: ({ wallMs }) => durationText(wallMs) },
  { id: 'cpu', header: 'CPU', align: 'end', isFitted: true, cell: ({ cpuMs }) => `${cpuMs.toFixed(1)} ms` },
  { id: 'at', header: 'Time', isFitted: true, cell: ({ at }) => <Time at={at} /> },
];

interface Detail {
  readonly request: {
    readonly requestHeaders?: readonly (readonly [string, string])[];
    readonly responseHeaders?: readonly (readonly [string, string])[];
  };
  readonly lines: readonly (Activity & { readonly type: 'log' })[];
  readonly replay: 'ready' | 'body' | 'gone';
  readonly body: string | null;
}

function EndedSheet({
  ended,
  records,
  onClose,
  onStep,
}: {
  readonly ended: Ended;
  readonly records: readonly Activity[];
  readonly onClose: () => void;
  readonly onStep: (step: 1 | -1) => void;
}) {
  const isRequest = ended.type === 'request';
  const { data, error } = useQuery({
    queryKey: ['dev request', ended.seq],
    queryFn: ({ signal }) => ask<Detail>('GET', `/requests/${ended.seq}`, { signal }),
    enabled: isRequest,
  });
  const replay = (): void =>
    void ask<{ status: number }>('POST', `/requests/${ended.seq}/replay`, { body: {} }).then(
      ({ status }) => noteDone(`Request replayed: ${status}`, 'The new request is at the top of the list.'),
      (reason: unknown) => noteFailed('Could not replay the request', reason),
    );
  const invocation = (ended as { invocation?: string }).invocation;
  const lines =
    data?.lines ??
    records.filter(
      (one): one is Activity & { type: 'log' } =>
        one.type === 'log' && invocation !== undefined && one.invocation === invocation,
    );
  return (
    <Sheet
      isOpen
      onClose={onClose}
      title={isRequest ? `${ended.method} ${ended.path}` : `${ended.kind} ${ended.name}`}
      tools={
        <>
          <Button size="small" variant="ghost" onClick={() => onStep(-1)}>
            Newer
          </Button>
          <Button size="small" variant="ghost" onClick={() => onStep(1)}>
            Older
          </Button>
        </>
      }
      footer={
        isRequest && (
          <Button variant="primary" onClick={replay} disabled={data?.replay !== 'ready'}>
            <ReloadIcon />
            Replay
          </Button>
        )
      }
    >
      <Facts
        facts={[
          [
            'Status',
            <State key="ended" tone={toneOf(ended)}>
              {endText(ended)}
            </State>,
          ],
          ['Duration', durationText(ended.wallMs)],
          ['CPU', `${ended.cpuMs.toFixed(2)} ms`],
          ['Time', <Time key="at" at={ended.at} isExact />],
          ['ID', isRequest || ended.id === '' ? null : <span className={styles.mono}>{ended.id}</span>],
        ]}
      />
      {ended.reason !== undefined && (
        <Notice tone="failed" title="Error">
          <span className={styles.mono}>{ended.reason}</span>
        </Notice>
      )}
      {error !== null && <ErrorState one="request" error={error} />}
      {isRequest && data === undefined && error === null && <SkeletonRows rows={4} />}
      <div className={styles.block}>
        <span className={styles.label}>Logs</span>
        {lines.length === 0 ? <span className={styles.faint}>No logs</span> : <Lines lines={lines} />}
      </div>
      {data !== undefined && (
        <>
          <Headers title="Request headers" headers={data.request.requestHeaders} />
          {data.body !== null && data.body !== '' && (
            <div className={styles.block}>
              <span className={styles.label}>Request body</span>
              <pre className={styles.body}>{bodyText(data.body)}</pre>
            </div>
          )}
          <Headers title="Response headers" headers={data.request.responseHeaders} />
          {data.replay !== 'ready' && (
            <p className={styles.faint}>
              {data.replay === 'body'
                ? 'Cannot be replayed: the request body is larger than 64 KB.'
                : 'Cannot be replayed: the request was sent before platform dev started.'}
            </p>
          )}
        </>
      )}
    </Sheet>
  );
}

const BODY_CHARS_MAX = 20_000;

function bodyText(base64: string): string {
  const bytes = Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
  const text = new TextDecoder().decode(bytes);
  return text.length > BODY_CHARS_MAX ? `${text.slice(0, BODY_CHARS_MAX)}…` : text;
}

function Headers({
  title,
  headers = [],
}: {
  readonly title: string;
  readonly headers?: readonly (readonly [string, string])[] | undefined;
}) {
  if (headers.length === 0) return null;
  return (
    <div className={styles.block}>
      <span className={styles.label}>{title}</span>
      <dl className={styles.headers}>
        {headers.map(([name, value], at) => (
          <div key={at}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
