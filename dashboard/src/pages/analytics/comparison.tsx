// The numbers of two deployments side by side.
import { Link } from '@tanstack/react-router';
import { Section } from '../../components/page.tsx';
import { State } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { countText } from '../../components/text.ts';
import { latencyText } from '../../components/time.tsx';
import type { Analytics } from '../../queries/analytics.ts';
import { cpuText, shareText } from '../../queries/usage.ts';
import { changeText, compareCounts, verdictOf, type ComparedNumber } from './compare-counts.ts';

interface ComparisonProps {
  readonly data: Analytics;
  readonly nameOf: (deploymentId: string) => string;
}

const formats: Readonly<Record<ComparedNumber['unit'], (value: number) => string>> = {
  count: countText,
  share: shareText,
  latency: latencyText,
  cpu: cpuText,
};
const shown = ({ unit }: ComparedNumber, value: number | null): string => (value === null ? '–' : formats[unit](value));

export function Comparison({ data: { deploymentId, compared, totals }, nameOf }: ComparisonProps) {
  if (compared === null) return null;
  const columns: readonly Column<ComparedNumber>[] = [
    { id: 'name', header: 'Measure', phone: 'first', isFitted: true, cell: ({ name }) => name },
    { id: 'before', header: nameOf(compared.deploymentId), align: 'end', cell: (row) => shown(row, row.before) },
    {
      id: 'after',
      header: deploymentId === null ? 'All deployments' : nameOf(deploymentId),
      align: 'end',
      cell: (row) => shown(row, row.after),
    },
    {
      id: 'change',
      header: 'Change',
      align: 'end',
      isFitted: true,
      phone: 'first-end',
      cell: (row) => {
        const verdict = verdictOf(row);
        if (verdict === null) return changeText(row.change);
        return (
          <State tone={verdict === 'worse' ? 'failed' : 'ok'}>
            {changeText(row.change)} {verdict}
          </State>
        );
      },
    },
  ];
  return (
    <Section
      title="Compared deployments"
      actions={
        <>
          {[compared.deploymentId, ...(deploymentId === null ? [] : [deploymentId])].map((id) => (
            <Link key={id} className="link" to="/deployments/$deployment" params={{ deployment: id }}>
              {nameOf(id)}
            </Link>
          ))}
        </>
      }
    >
      <Table
        label="Compared deployments"
        columns={columns}
        rows={compareCounts(compared.totals, totals)}
        rowKey={({ name }) => name}
      />
    </Section>
  );
}
