// Details of a request or event: its client and headers, its sizes, its log lines.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Sheet } from '../../components/dialog.tsx';
import { Id } from '../../components/id.tsx';
import { EmptyState, Notice } from '../../components/notice.tsx';
import { countText } from '../../components/text.ts';
import { Facts, Section } from '../../components/page.tsx';
import { State } from '../../components/state.tsx';
import { durationText, latencyText, Time } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import type { Project } from '../../queries/account.ts';
import { invocationQuery, type Line, type RequestDetails } from '../../queries/logs.ts';
import type { Narrow } from '../../queries/log-search.ts';
import { cpuText } from '../../queries/usage.ts';
import { bytesText } from '../storage/value.tsx';
import styles from './logs.module.css';

/** Number of characters of a line that are shown at first. */
const CHARS_SHOWN = 5000;

interface RequestSheetProps {
  readonly project: Project;
  readonly id: string;
  readonly narrow: Narrow;
  readonly onClose: () => void;
}

export function RequestSheet({ project, id, narrow, onClose }: RequestSheetProps) {
  const { data, error, refetch } = useQuery(invocationQuery(project.id, id));
  return (
    <Sheet
      isOpen
      onClose={onClose}
      title={data === undefined ? 'Request' : <code>{titleOf(data)}</code>}
      description={<Id id={id} chars={36} />}
    >
      {data === undefined && <Unloaded one="request" error={error} refetch={refetch} />}
      {data !== undefined && (
        <>
          {data.error !== '' && <Notice tone="failed" title={data.error} />}
          <Facts
            facts={[
              ['Time', <Time key="at" at={data.at} isExact />],
              [
                'Status',
                <State key="end" tone={data.isFailure ? 'failed' : 'ok'}>
                  {data.outcome === 'ok' ? 'OK' : data.outcome.replaceAll('_', ' ')}
                </State>,
              ],
              ['HTTP status', data.status === 0 ? null : String(data.status)],
              ['Duration', durationText(data.wallMs)],
              ['First byte', data.firstByteMs === null ? null : latencyText(data.firstByteMs)],
              ['CPU', cpuText(data.cpuMs)],
              [
                'Route',
                <button
                  key="route"
                  type="button"
                  className="link"
                  style={{ border: 0, background: 'none', padding: 0 }}
                  onClick={() => narrow({ route: data.route, invocation: undefined })}
                >
                  <code>{data.route}</code>
                </button>,
              ],
              [
                'Deployment',
                <Link
                  key="deployment"
                  to="/deployments/$deployment"
                  params={{ deployment: data.deploymentId }}
                  className="link"
                >
                  <Id id={data.deploymentId} isPlain />
                </Link>,
              ],
              ['Branch', data.branch],
              ['Trace', data.traceId === null ? null : <Id key="trace" id={data.traceId} chars={24} />],
              ...(data.request === null ? [] : requestFacts(data.request)),
            ]}
          />
          {data.traceId !== null && (
            <div className={styles.bar}>
              <Link
                to="/projects/$project/logs/traces/$trace"
                params={{ project: project.name, trace: data.traceId }}
                className="link"
              >
                View trace
              </Link>
              <Button size="small" onClick={() => narrow({ trace: data.traceId!, invocation: undefined })}>
                All logs of the trace
              </Button>
            </div>
          )}
          {data.request !== null && data.request.headers.length > 0 && <Headers request={data.request} />}
          <Section title={data.lines.length === 1 ? '1 line' : `${data.lines.length} lines`}>
            {data.lines.length === 0 ? (
              <EmptyState title="No logs" />
            ) : (
              <div className={styles.lines}>
                {data.lines.map((line) => (
                  <WholeLine key={line.id} line={line} />
                ))}
              </div>
            )}
          </Section>
        </>
      )}
    </Sheet>
  );
}

function requestFacts({ query, headers, client, requestBytes, responseBytes }: RequestDetails) {
  const userAgent = headers.find(({ name }) => name === 'user-agent')?.value ?? null;
  return [
    ['Query', query === '' ? null : <code key="query">{query}</code>],
    ['Client', client === null ? null : <code key="client">{client}</code>],
    ['User agent', userAgent],
    ['Request body', requestBytes === null ? 'unknown size' : bytesText(requestBytes)],
    ['Response body', responseBytes === null ? null : bytesText(responseBytes)],
  ] as const;
}

function Headers({ request: { headers } }: { readonly request: RequestDetails }) {
  return (
    <Section title="Request headers">
      <Facts
        facts={headers.map(({ name, value }) => [
          name,
          value === null ? (
            <span key={name} className={styles.unstored}>
              not stored
            </span>
          ) : (
            <code key={name}>{value}</code>
          ),
        ])}
      />
    </Section>
  );
}

function titleOf({
  method,
  path,
  kind,
  route,
}: {
  readonly method: string;
  readonly path: string;
  readonly kind: string;
  readonly route: string;
}): string {
  return method === '' ? `${kind} ${route}` : `${method} ${path}`;
}

export function WholeLine({ line }: { readonly line: Pick<Line, 'level' | 'text' | 'at'> }) {
  const [isWhole, setWhole] = useState(false);
  const { text } = line;
  const isCut = text.length > CHARS_SHOWN && !isWhole;
  return (
    <div className={styles.whole} data-level={line.level}>
      <small>
        <Time at={line.at} isExact /> {line.level} <CopyButton text={text} label="Copy line" />
      </small>
      <div dir="auto">{isCut ? text.slice(0, CHARS_SHOWN) : text}</div>
      {isCut && (
        <Button size="small" onClick={() => setWhole(true)}>
          Show all {countText(text.length)} characters
        </Button>
      )}
    </div>
  );
}
