// What platform.yaml says under `platform dev`, with its defaults. Values of variables are never shown.
import { useQuery } from '@tanstack/react-query';
import { ask } from '../../api/client.ts';
import { CodeBlock } from '../../components/code-block.tsx';
import { EmptyState, ErrorState } from '../../components/notice.tsx';
import { Facts, Page, Section } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table } from '../../components/table.tsx';
import styles from '../storage/storage.module.css';

interface Configuration {
  readonly name: string;
  readonly url: string;
  readonly ready: boolean;
  readonly kind?: string | null;
  readonly compatibilityDate?: string | null;
  readonly bindings?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly variables?: readonly string[];
  readonly config?: unknown;
}

const LOOK_MS = 3000;

export function DevConfigurationPage() {
  const { data, error, refetch } = useQuery({
    queryKey: ['dev configuration'],
    queryFn: ({ signal }) => ask<Configuration>('GET', '/config', { signal }),
    refetchInterval: LOOK_MS,
  });
  return (
    <Page title="Settings" description="They are lines of platform.yaml: it is read anew when it is saved.">
      {error !== null && (
        <ErrorState title="The configuration could not be read" error={error} onRetry={() => void refetch()} />
      )}
      {data === undefined && error === null && <SkeletonRows />}
      {data !== undefined && !data.ready && <EmptyState title="The project has not been built yet" />}
      {data?.ready === true && (
        <>
          <Facts
            facts={[
              ['Project', data.name],
              [
                'Address',
                <a key="url" href={data.url}>
                  {data.url}
                </a>,
              ],
              ['Kind', data.kind ?? null],
              ['Compatibility date', data.compatibilityDate ?? null],
            ]}
          />
          <Section title="Bindings">
            <Table
              label="Bindings"
              rows={Object.entries(data.bindings ?? {}).flatMap(([kind, names]) =>
                Object.entries(names).map(([name, resource]) => ({ kind, name, resource })),
              )}
              rowKey={({ kind, name }) => `${kind} ${name}`}
              columns={[
                {
                  id: 'name',
                  header: 'In your worker',
                  phone: 'first',
                  cell: ({ name }) => <span className={styles.mono}>env.{name}</span>,
                },
                { id: 'kind', header: 'Kind', cell: ({ kind }) => kind },
                {
                  id: 'resource',
                  header: 'Resource',
                  cell: ({ resource }) => <span className={styles.mono}>{resource}</span>,
                },
              ]}
            />
          </Section>
          <Section title="Variables">
            <p className={styles.soft}>
              {data.variables?.length === 0
                ? 'None: a file .env beside platform.yaml sets some.'
                : 'Of .env and of dev itself; their values are not shown.'}
            </p>
            <p className={styles.mono}>{data.variables?.join(', ')}</p>
          </Section>
          <Section title="platform.yaml with its defaults">
            <CodeBlock code={JSON.stringify(data.config, null, 2) ?? ''} wraps />
          </Section>
        </>
      )}
    </Page>
  );
}
