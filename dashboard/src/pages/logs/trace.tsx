// A trace: its spans over time as a tree, and its log lines.
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { Id } from '../../components/id.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Facts, Page, Section } from '../../components/page.tsx';
import { State } from '../../components/state.tsx';
import { durationText, Time } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import { traceQuery, type Trace } from '../../queries/logs.ts';
import { useProject } from '../../shell/use-place.ts';
import styles from './logs.module.css';
import { WholeLine } from './request-sheet.tsx';
import { SpanSheet } from './span-sheet.tsx';
import { Waterfall } from './waterfall.tsx';

const FROM = '/projects/$project/logs/traces/$trace';

export function TracePage() {
  const { trace: traceId, project: name } = useParams({ from: FROM });
  const { span: opened } = useSearch({ from: FROM });
  const { data: project, error: projectError } = useProject();
  const query = useQuery({ ...traceQuery(project?.id ?? '', traceId), enabled: project !== undefined });
  const { data: trace, refetch } = query;
  const error = projectError ?? query.error;
  const navigate = useNavigate({ from: FROM });
  const open = (span: string | undefined): void =>
    void navigate({ search: span === undefined ? {} : { span }, replace: opened !== undefined });
  const shown = trace?.spans.find(({ spanId }) => spanId === opened);
  return (
    <Page
      title={trace?.spans[0]?.name ?? 'Trace'}
      heading={trace === undefined ? 'Trace' : <code>{trace.spans[0]?.name}</code>}
      description={
        <Link to="/projects/$project/logs/traces" params={{ project: name }}>
          All traces
        </Link>
      }
      isWide
    >
      {trace === undefined && (
        <Unloaded one={projectError === null ? 'trace' : 'project'} error={error} refetch={refetch} rows={8} />
      )}
      {trace !== undefined && (
        <>
          <About trace={trace} />
          <Section title={trace.spans.length === 1 ? '1 span' : `${trace.spans.length.toLocaleString('en')} spans`}>
            <Waterfall trace={trace} opened={opened ?? null} onOpen={open} />
          </Section>
          <Section title={trace.lines.length === 1 ? '1 line' : `${trace.lines.length.toLocaleString('en')} lines`}>
            {trace.lines.length === 0 ? (
              <EmptyState title="No logs" />
            ) : (
              <div className={styles.lines}>
                {trace.lines.map((line) => (
                  <WholeLine key={line.id} line={line} />
                ))}
              </div>
            )}
          </Section>
          {shown !== undefined && (
            <SpanSheet trace={trace} span={shown} project={name} onClose={() => open(undefined)} />
          )}
        </>
      )}
    </Page>
  );
}

function About({ trace }: { readonly trace: Trace }) {
  const failures = useMemo(() => trace.spans.filter(({ error }) => error !== null).length, [trace]);
  return (
    <Facts
      facts={[
        ['Trace', <Id key="id" id={trace.traceId} chars={24} />],
        ['Started', <Time key="at" at={trace.at} isExact />],
        ['Duration', durationText(trace.ms)],
        [
          'Failed',
          failures === 0 ? null : (
            <State key="failed" tone="failed">
              {failures} of its spans
            </State>
          ),
        ],
      ]}
    />
  );
}
