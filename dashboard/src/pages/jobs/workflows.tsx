// Runs of a workflow, filtered by status. run-sheet.tsx shows the open run.
import { PlayIcon } from '@radix-ui/react-icons';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { CursorList } from '../../components/cursor-list.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Editor } from '../../components/editor.tsx';
import { Field, Input, Select } from '../../components/field.tsx';
import { Id } from '../../components/id.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { State } from '../../components/state.tsx';
import { Table } from '../../components/table.tsx';
import { sentenceText } from '../../components/text.ts';
import { Duration, Time } from '../../components/time.tsx';
import { branchOf, runsQuery, type BindingPlace } from '../../queries/resources.ts';
import type { WorkflowSearch } from '../../queries/resource-search.ts';
import { AreaPage } from '../storage/binding-page.tsx';
import { targetOf, useChanges } from '../storage/changes.tsx';
import { agentKind, jobsArea, workflowKind } from '../storage/kinds.ts';
import styles from '../storage/storage.module.css';
import { Activity } from './activity.tsx';
import { parseJson } from './json.ts';
import { RunSheet } from './run-sheet.tsx';
import { runTones, shownStatus } from './run-tones.ts';

export function WorkflowsPage() {
  return (
    <AreaPage area={jobsArea} kind={workflowKind}>
      {(place) => <Workflow key={`${place.binding} ${place.branch ?? ''}`} place={place} />}
    </AreaPage>
  );
}

/** The page of agent runs. Messages and timers start these runs, never the user of the page. */
export function AgentsPage() {
  return (
    <AreaPage area={jobsArea} kind={agentKind}>
      {(place) => <Workflow key={`${place.binding} ${place.branch ?? ''}`} place={place} isAgent />}
    </AreaPage>
  );
}

interface WorkflowProps {
  readonly place: BindingPlace;
  readonly isAgent?: boolean;
}

function Workflow({ place, isAgent = false }: WorkflowProps) {
  const { status = '', run } = useSearch({ strict: false }) as WorkflowSearch;
  const navigate = useNavigate();
  const query = useInfiniteQuery(runsQuery(place, status));
  const [isStarting, setStarting] = useState(false);
  const show = (next: WorkflowSearch): void =>
    void navigate({ to: '.', search: (before: object) => ({ ...before, ...next }) } as never);
  return (
    <>
      <Activity place={place} kind="workflow" title="Invocations" />
      <div className={styles.bar}>
        <Select
          className={styles.narrow}
          aria-label="Status"
          value={status}
          onChange={(event) => show({ status: event.target.value === '' ? undefined : event.target.value })}
        >
          <option value="">Any status</option>
          {Object.keys(runTones).map((one) => (
            <option key={one} value={one}>
              {sentenceText(one)}
            </option>
          ))}
        </Select>
        <span className={styles.grow} />
        {!isAgent && (
          <Button variant="primary" onClick={() => setStarting(true)}>
            <PlayIcon />
            Start run
          </Button>
        )}
      </div>
      <CursorList
        name="runs"
        query={query}
        empty={
          <EmptyState title={status === '' ? 'No runs yet' : `No ${status} runs`}>
            {status === '' &&
              (isAgent
                ? 'User messages and scheduled tasks start runs.'
                : `To start one, call \`await env.${place.binding}.trigger({ price: 40 })\` in your worker.`)}
          </EmptyState>
        }
      >
        {(runs) => (
          <Table
            label="Runs"
            rows={runs}
            rowKey={({ id }) => id}
            onOpen={({ id }) => show({ run: id })}
            selectedKey={run ?? null}
            columns={[
              {
                id: 'status',
                header: 'Status',
                isFitted: true,
                phone: 'first',
                cell: (one) => <State tone={runTones[one.status] ?? 'neutral'}>{sentenceText(shownStatus(one))}</State>,
              },
              { id: 'id', header: 'Run', cell: ({ id }) => <Id id={id} chars={28} /> },
              {
                id: 'error',
                header: 'Error',
                phone: 'hidden',
                cell: ({ error }) => <span className={styles.line}>{error?.message ?? ''}</span>,
              },
              {
                id: 'took',
                header: 'Duration',
                align: 'end',
                isFitted: true,
                cell: ({ startedAt, completedAt }) =>
                  startedAt === null ? '' : <Duration from={startedAt} to={completedAt} />,
              },
              {
                id: 'at',
                header: 'Created',
                isFitted: true,
                phone: 'first-end',
                cell: ({ createdAt }) => <Time at={createdAt} />,
              },
            ]}
          />
        )}
      </CursorList>
      {run !== undefined && (
        <RunSheet key={run} place={place} id={run} isAgent={isAgent} onClose={() => show({ run: undefined })} />
      )}
      {isStarting && (
        <StartRun place={place} onClose={() => setStarting(false)} onStarted={(id) => show({ run: id })} />
      )}
    </>
  );
}

function StartRun({
  place,
  onClose,
  onStarted,
}: {
  readonly place: BindingPlace;
  readonly onClose: () => void;
  readonly onStarted: (id: string) => void;
}) {
  const { change, isPending, question } = useChanges(place);
  const [input, setInput] = useState('{}');
  const [id, setId] = useState('');
  const [isTried, setTried] = useState(false);
  const parsed = parseJson(input);
  const submit = (): void => {
    setTried(true);
    if (!parsed.isJson) return;
    change({
      done: 'Run started',
      failed: 'Could not start the run',
      act: async () => {
        const started = await dataOf(
          api.post('/projects/:id/workflows/:workflow/runs', {
            params: { id: place.id, workflow: place.binding },
            query: branchOf(place),
            body: { input: parsed.value, ...(id !== '' && { id }) },
          }),
        );
        onClose();
        onStarted(started.id);
      },
    });
  };
  return (
    <>
      <Dialog
        isOpen
        isWide
        onClose={onClose}
        title="Start run"
        description={`${place.binding}, ${targetOf(place)}`}
        onSubmit={submit}
        footer={
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" variant="primary" isPending={isPending}>
              Start
            </Button>
          </>
        }
      >
        <div className={styles.block}>
          <span className={styles.label}>Input (JSON)</span>
          <Editor label="Input" language="json" value={input} onChange={setInput} onRun={submit} />
          {isTried && !parsed.isJson && (
            <span role="alert" style={{ color: 'var(--failed)' }}>
              Invalid JSON: {parsed.problem}
            </span>
          )}
        </div>
        <Field label="ID" hint="Leave empty to generate an ID. If a run with this ID exists, no new run starts.">
          {(control) => <Input {...control} isCode value={id} onChange={(event) => setId(event.target.value)} />}
        </Field>
      </Dialog>
      {question}
    </>
  );
}
