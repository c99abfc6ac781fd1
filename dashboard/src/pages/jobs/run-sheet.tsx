// A run: steps on a time axis with attempts, sleeps and waits; input, output and log; cancel, pause, resume, rerun from
// a step, send an event.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Dialog, Sheet } from '../../components/dialog.tsx';
import { Editor } from '../../components/editor.tsx';
import { Field, Input } from '../../components/field.tsx';
import { Id } from '../../components/id.tsx';
import { ErrorState, Notice } from '../../components/notice.tsx';
import { Facts } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { State } from '../../components/state.tsx';
import { sentenceText } from '../../components/text.ts';
import { Duration, Time } from '../../components/time.tsx';
import { branchOf, runQuery, type BindingPlace } from '../../queries/resources.ts';
import { targetOf, useChanges } from '../storage/changes.tsx';
import styles from '../storage/storage.module.css';
import { jsonLine, JsonValue } from '../storage/value.tsx';
import { AgentTimeline } from './agent-timeline.tsx';
import { parseJson } from './json.ts';
import { RunAxis } from './run-axis.tsx';
import { runTones, shownStatus } from './run-tones.ts';

interface RunSheetProps {
  readonly place: BindingPlace;
  readonly id: string;
  /** Whether the run is of an agent. */
  readonly isAgent: boolean;
  readonly onClose: () => void;
}

export function RunSheet({ place, id, isAgent, onClose }: RunSheetProps) {
  const { data: run, error } = useQuery(runQuery(place, id));
  const { change, isPending, question } = useChanges(place);
  const [asked, setAsked] = useState<{ readonly does: 'cancel' | 'restart'; readonly step: string | null } | null>(
    null,
  );
  const [sent, setSent] = useState<string | null>(null);
  const params = { id: place.id, workflow: place.binding };
  const query = { ...branchOf(place), run: id };
  const isOver = run !== undefined && ['completed', 'failed', 'cancelled'].includes(run.status);
  const waiting = run?.steps.find(({ kind, status }) => kind === 'event' && status === 'waiting');
  return (
    <Sheet
      isOpen
      onClose={onClose}
      title={<Id id={id} chars={36} />}
      description={`${place.binding}, ${targetOf(place)}`}
      footer={
        run !== undefined && (
          <>
            {!isOver && (
              <Button variant="danger" onClick={() => setAsked({ does: 'cancel', step: null })}>
                Cancel run
              </Button>
            )}
            {!isOver && run.status !== 'paused' && (
              <Button
                isPending={isPending}
                onClick={() =>
                  change({
                    done: 'Run paused',
                    failed: 'Could not pause the run',
                    act: () => dataOf(api.post('/projects/:id/workflows/:workflow/run/pause', { params, query })),
                  })
                }
              >
                Pause
              </Button>
            )}
            {run.status === 'paused' && (
              <Button
                isPending={isPending}
                onClick={() =>
                  change({
                    done: 'Run resumed',
                    failed: 'Could not resume the run',
                    act: () => dataOf(api.post('/projects/:id/workflows/:workflow/run/resume', { params, query })),
                  })
                }
              >
                Resume
              </Button>
            )}
            {!isOver && (
              <Button
                variant={waiting === undefined ? 'secondary' : 'primary'}
                onClick={() => setSent(waiting?.eventType ?? '')}
              >
                Send event
              </Button>
            )}
            {isOver && <Button onClick={() => setAsked({ does: 'restart', step: null })}>Rerun</Button>}
          </>
        )
      }
    >
      {error !== null && <ErrorState one="run" error={error} />}
      {run === undefined && error === null && <SkeletonRows />}
      {run !== undefined && (
        <>
          <Facts
            facts={[
              [
                'Status',
                <State key="state" tone={runTones[run.status] ?? 'neutral'}>
                  {sentenceText(shownStatus(run))}
                </State>,
              ],
              ['Created', <Time key="at" at={run.createdAt} />],
              [
                'Duration',
                run.startedAt === null ? null : <Duration key="took" from={run.startedAt} to={run.completedAt} />,
              ],
              ['Deployment', <Id key="deployment" id={run.deployment} />],
              [
                'Waiting for',
                waiting === undefined ? null : (
                  <span key="waits">
                    event <span className={styles.mono}>{waiting.eventType}</span>
                  </span>
                ),
              ],
            ]}
          />
          {run.error !== null && (
            <Notice tone="failed" title={run.error.name}>
              <span className={styles.mono}>{run.error.message}</span>
            </Notice>
          )}
          {isAgent && <AgentTimeline input={run.input} steps={run.steps} />}
          <RunAxis
            steps={run.steps}
            from={run.startedAt ?? run.createdAt}
            to={run.completedAt}
            onRestart={(step) => setAsked({ does: 'restart', step })}
          />
          <div className={styles.block}>
            <span className={styles.label}>Input</span>
            <JsonValue value={run.input} />
          </div>
          {run.status === 'completed' && (
            <div className={styles.block}>
              <span className={styles.label}>Output</span>
              <JsonValue value={run.output} />
            </div>
          )}
          {run.log.length > 0 && (
            <div className={styles.block}>
              <span className={styles.label}>Log</span>
              {run.log.map(({ at, message, content }, index) => (
                <div key={index} className={styles.mono}>
                  <span className={styles.faint}>
                    <Time at={at} isExact />
                  </span>{' '}
                  {message} {content === null ? '' : jsonLine(content, 500)}
                </div>
              ))}
            </div>
          )}
        </>
      )}
      {question}
      <Confirm
        isOpen={asked !== null}
        onClose={() => setAsked(null)}
        title={
          asked?.does === 'cancel'
            ? 'Cancel this run?'
            : asked?.step === null
              ? 'Rerun from the beginning?'
              : `Rerun from ${asked?.step ?? ''}?`
        }
        action={asked?.does === 'cancel' ? 'Cancel run' : 'Rerun'}
        isDanger={asked?.does === 'cancel'}
        onConfirm={() => {
          const { does, step } = asked!;
          setAsked(null);
          change(
            does === 'cancel'
              ? {
                  done: 'Run cancelled',
                  failed: 'Could not cancel the run',
                  act: () => dataOf(api.post('/projects/:id/workflows/:workflow/run/cancel', { params, query })),
                }
              : {
                  done: 'Run restarted',
                  failed: 'Could not restart the run',
                  act: () =>
                    dataOf(
                      api.post('/projects/:id/workflows/:workflow/run/restart', {
                        params,
                        query,
                        body: step === null ? {} : { fromStep: step },
                      }),
                    ),
                },
          );
        }}
      >
        {asked?.does === 'cancel'
          ? 'Stops the current step and skips the remaining ones.'
          : asked?.step === null
            ? 'All steps run again with the currently deployed code.'
            : 'This step and the following ones run again with the currently deployed code. Results of earlier steps are kept.'}
      </Confirm>
      {sent !== null && <SendEvent place={place} run={id} type={sent} onClose={() => setSent(null)} />}
    </Sheet>
  );
}

function SendEvent({
  place,
  run,
  type: first,
  onClose,
}: {
  readonly place: BindingPlace;
  readonly run: string;
  readonly type: string;
  readonly onClose: () => void;
}) {
  const { change, isPending, question } = useChanges(place);
  const [type, setType] = useState(first);
  const [payload, setPayload] = useState('{}');
  const [isTried, setTried] = useState(false);
  const parsed = parseJson(payload);
  const submit = (): void => {
    setTried(true);
    if (!parsed.isJson) return;
    change({
      done: 'Event sent',
      failed: 'Could not send the event',
      act: () =>
        dataOf(
          api.post('/projects/:id/workflows/:workflow/run/events', {
            params: { id: place.id, workflow: place.binding },
            query: { ...branchOf(place), run },
            body: { type, payload: parsed.value },
          }),
        ),
      after: onClose,
    });
  };
  return (
    <>
      <Dialog
        isOpen
        isWide
        onClose={onClose}
        title="Send event"
        onSubmit={submit}
        footer={
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" variant="primary" isPending={isPending}>
              Send
            </Button>
          </>
        }
      >
        <Field label="Type">
          {(control) => (
            <Input {...control} isCode required value={type} onChange={(event) => setType(event.target.value)} />
          )}
        </Field>
        <div className={styles.block}>
          <span className={styles.label}>Payload (JSON)</span>
          <Editor label="Payload" language="json" value={payload} onChange={setPayload} onRun={submit} />
          {isTried && !parsed.isJson && (
            <span role="alert" style={{ color: 'var(--failed)' }}>
              Invalid JSON: {parsed.problem}
            </span>
          )}
        </div>
      </Dialog>
      {question}
    </>
  );
}
