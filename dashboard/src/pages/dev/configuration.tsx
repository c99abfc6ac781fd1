// platform.yaml under `platform dev`, with defaults. Values of variables are never shown.
import { useQuery } from '@tanstack/react-query';
import { ask } from '../../api/client.ts';
import { CodeBlock } from '../../components/code-block.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Facts, Page, Section } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
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
    <Page title="Settings" description="Read from platform.yaml. Changes take effect when you save the file.">
      {data === undefined && <Unloaded what="the configuration" error={error} refetch={refetch} />}
      {data !== undefined && !data.ready && <EmptyState title="Project not built yet" />}
      {data?.ready === true && (
        <>
          <Facts
            facts={[
              ['Project', data.name],
              [
                'URL',
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
                  header: 'In the worker',
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
                ? 'None. Set variables in a .env file beside platform.yaml.'
                : 'From .env and platform dev. Values are not shown.'}
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
