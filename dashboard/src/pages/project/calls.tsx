// Calls of the last hour between a project and others, on its overview: the projects that it calls, and the projects
// that call it. Nothing is shown for a project without calls.
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Section } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { countText } from '../../components/text.ts';
import { latencyText } from '../../components/time.tsx';
import type { Project } from '../../queries/account.ts';
import { callsQuery } from '../../queries/logs.ts';

export function Calls({ project }: { readonly project: Project }) {
  const { data } = useQuery(callsQuery(project.id));
  if (data === undefined) return null;
  return (
    <>
      {data.callers.length > 0 && <Rows title="Called by, last hour" rows={data.callers} />}
      {data.calls.length > 0 && <Rows title="Calls, last hour" rows={data.calls} />}
    </>
  );
}

interface Row {
  readonly project: string;
  readonly name: string;
  readonly calls: number;
  readonly failures: number;
  readonly msP50: number;
  readonly msP99: number;
}

function Rows({ title, rows }: { readonly title: string; readonly rows: readonly Row[] }) {
  const navigate = useNavigate();
  return (
    <Section title={title}>
      <Table
        label={title}
        rows={rows}
        rowKey={({ project, name }) => `${project} ${name}`}
        onOpen={({ project }) => void navigate({ to: '/projects/$project', params: { project } })}
        columns={[
          {
            id: 'project',
            header: 'Project',
            phone: 'first',
            cell: ({ project }) => (
              <Link className="link" to="/projects/$project" params={{ project }}>
                {project}
              </Link>
            ),
          },
          { id: 'name', header: 'Method', cell: ({ name }) => <code>{name}</code> },
          { id: 'calls', header: 'Calls', align: 'end', isFitted: true, cell: ({ calls }) => countText(calls) },
          {
            id: 'failures',
            header: 'Errors',
            align: 'end',
            isFitted: true,
            cell: ({ failures }) => countText(failures),
          },
          { id: 'p50', header: 'p50', align: 'end', isFitted: true, cell: ({ msP50 }) => latencyText(msP50) },
          { id: 'p99', header: 'p99', align: 'end', isFitted: true, cell: ({ msP99 }) => latencyText(msP99) },
        ]}
      />
    </Section>
  );
}
