// AI calls, newest first: model, usage, status. Prompts and completions are not stored.
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button } from '../../components/button.tsx';
import { CursorList } from '../../components/cursor-list.tsx';
import { Checkbox } from '../../components/field.tsx';
import { Id } from '../../components/id.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Filters } from '../../components/page.tsx';
import { State } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { countText } from '../../components/text.ts';
import { durationText, Time } from '../../components/time.tsx';
import { aiCallsQuery, costText, type AiCall, type AiSearch } from '../../queries/ai.ts';
import type { UsageOf } from '../../queries/usage.ts';

interface AiCallsProps {
  readonly of: UsageOf;
  readonly search: AiSearch;
  readonly onSearch: (search: AiSearch) => void;
  /** Project name, for links to its agents. */
  readonly project?: string;
}

export function AiCalls({ of, search, onSearch, project }: AiCallsProps) {
  const query = useInfiniteQuery(aiCallsQuery(of, search));
  const { model, run, failed = false } = search;
  const columns: readonly Column<AiCall>[] = [
    {
      id: 'state',
      header: 'Status',
      isFitted: true,
      phone: 'first',
      cell: ({ status }) => (
        <State tone={status < 400 ? 'ok' : status === 499 ? 'neutral' : 'failed'}>
          {status === 499 ? 'canceled' : String(status)}
        </State>
      ),
    },
    {
      id: 'model',
      header: 'Model',
      cell: ({ model: answered, modelRequested }) => (
        <span title={`Requested: ${modelRequested}`}>{answered ?? modelRequested}</span>
      ),
    },
    {
      id: 'by',
      header: 'Caller',
      isFitted: true,
      phone: 'hidden',
      cell: ({ kind, runId }) =>
        runId === null || project === undefined ? (
          kind
        ) : (
          <Link
            to="/projects/$project/jobs/agents/$binding"
            params={{ project, binding: 'PLATFORM_AGENT_WORKFLOW' }}
            search={{ run: runId }}
            className="link"
            title="Agent run"
          >
            <Id id={runId} isPlain />
          </Link>
        ),
    },
    {
      id: 'tokens',
      header: 'Tokens',
      align: 'end',
      isFitted: true,
      cell: ({ promptTokens, completionTokens, isEstimated }) =>
        `${isEstimated ? '≈ ' : ''}${countText(promptTokens)} + ${countText(completionTokens)}`,
    },
    { id: 'cost', header: 'Cost', align: 'end', isFitted: true, cell: ({ costMicros }) => costText(costMicros) },
    {
      id: 'first',
      header: 'First token',
      align: 'end',
      isFitted: true,
      phone: 'hidden',
      cell: ({ firstByteMs }) => (firstByteMs === null ? '–' : durationText(firstByteMs)),
    },
    { id: 'took', header: 'Duration', align: 'end', isFitted: true, cell: ({ totalMs }) => durationText(totalMs) },
    { id: 'at', header: 'Time', isFitted: true, phone: 'first-end', cell: ({ at }) => <Time at={at} /> },
  ];
  return (
    <>
      <Filters label="Calls">
        <Checkbox
          label="Only failures"
          checked={failed}
          onChange={({ target }) => onSearch({ ...search, failed: target.checked || undefined })}
        />
        {model !== undefined && (
          <Button size="small" onClick={() => onSearch({ ...search, model: undefined })}>
            Model: {model} ×
          </Button>
        )}
        {run !== undefined && (
          <Button size="small" onClick={() => onSearch({ ...search, run: undefined })}>
            Run: {run} ×
          </Button>
        )}
      </Filters>
      <CursorList
        name="calls"
        query={query}
        empty={<EmptyState title="No AI calls">Calls appear when they finish.</EmptyState>}
      >
        {(items) => <Table label="AI calls" columns={columns} rows={items} rowKey={({ id }) => id} />}
      </CursorList>
    </>
  );
}
