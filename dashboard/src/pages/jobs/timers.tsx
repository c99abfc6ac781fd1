// Pending timers with their next time; set, run now, delete.
import { PlusIcon } from '@radix-ui/react-icons';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useSearch } from '@tanstack/react-router';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { CursorList } from '../../components/cursor-list.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Editor } from '../../components/editor.tsx';
import { Field, FieldRow, Input } from '../../components/field.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Table } from '../../components/table.tsx';
import { durationText, Time } from '../../components/time.tsx';
import { doUnlessUndone } from '../../components/toast.ts';
import { branchOf, timersQuery, type BindingPlace } from '../../queries/resources.ts';
import type { ListSearch } from '../../queries/resource-search.ts';
import { AreaPage } from '../storage/binding-page.tsx';
import { targetOf, useChanges } from '../storage/changes.tsx';
import { jobsArea, bindingKind } from '../storage/kinds.ts';
import { PrefixField } from '../storage/prefix-field.tsx';
import styles from '../storage/storage.module.css';
import { jsonLine } from '../storage/value.tsx';
import { Activity } from './activity.tsx';
import { parseJson } from './json.ts';

export function TimersPage() {
  return (
    <AreaPage area={jobsArea} kind={bindingKind('timer')}>
      {(place) => <Timers key={`${place.binding} ${place.branch ?? ''}`} place={place} />}
    </AreaPage>
  );
}

function Timers({ place }: { readonly place: BindingPlace }) {
  const { prefix = '' } = useSearch({ strict: false }) as ListSearch;
  const query = useInfiniteQuery(timersQuery(place, prefix));
  const { change, question } = useChanges(place);
  const [isSetting, setSetting] = useState(false);
  /** Deleted unless undone. */
  const [going, setGoing] = useState<ReadonlySet<string>>(new Set());
  const params = { id: place.id, timer: place.binding };
  const keep = (key: string): void => setGoing((before) => new Set([...before].filter((other) => other !== key)));
  const remove = (key: string): void => {
    setGoing((before) => new Set([...before, key]));
    doUnlessUndone(
      `Timer ${key} deleted`,
      () =>
        change({
          done: null,
          failed: 'Could not delete the timer',
          act: () =>
            dataOf(
              api.delete('/projects/:id/timers/:timer/entry', { params, query: { ...branchOf(place), key } }),
            ).finally(() => setTimeout(() => keep(key), 1000)),
        }),
      () => keep(key),
    );
  };
  return (
    <>
      <Activity place={place} kind="timer" title="Invocations" />
      <div className={styles.bar} role="search">
        <PrefixField label="ID prefix" />
        <Button variant="primary" onClick={() => setSetting(true)}>
          <PlusIcon />
          Set timer
        </Button>
      </div>
      <CursorList
        name="timers"
        query={query}
        empty={
          <EmptyState title={prefix === '' ? 'No timers' : 'No results'}>
            {prefix === '' &&
              `To set one, call \`await env.${place.binding}.set('remind', { afterMs: 60_000 })\` in your worker.`}
          </EmptyState>
        }
      >
        {(timers) => (
          <Table
            label="Timers"
            rows={timers.filter(({ id }) => !going.has(id))}
            rowKey={({ id }) => id}
            columns={[
              {
                id: 'id',
                header: 'Timer',
                phone: 'first',
                cell: ({ id }) => <span className={styles.mono}>{id}</span>,
              },
              {
                id: 'at',
                header: 'Fires',
                isLabelled: true,
                isFitted: true,
                cell: ({ scheduledTime }) => <Time at={scheduledTime} />,
              },
              {
                id: 'again',
                header: 'Repeats',
                cell: ({ intervalMs, cron, timezone }) =>
                  cron !== null ? (
                    <span className={styles.mono}>
                      {cron} {timezone}
                    </span>
                  ) : intervalMs !== null ? (
                    `every ${durationText(intervalMs)}`
                  ) : (
                    <span className={styles.faint}>once</span>
                  ),
              },
              {
                id: 'payload',
                header: 'Payload',
                phone: 'hidden',
                cell: ({ payload }) => (
                  <span className={`${styles.mono} ${styles.line}`}>
                    {payload === null ? '' : jsonLine(payload, 80)}
                  </span>
                ),
              },
            ]}
            actions={({ id }) => (
              <span className={styles.bar}>
                <Button
                  size="small"
                  aria-label={`Run now: ${id}`}
                  onClick={() =>
                    change({
                      done: `Timer ${id} fired`,
                      failed: 'Could not fire the timer',
                      act: () =>
                        dataOf(
                          api.post('/projects/:id/timers/:timer/run', {
                            params,
                            query: { ...branchOf(place), key: id },
                          }),
                        ),
                    })
                  }
                >
                  Run now
                </Button>
                <Button size="small" variant="ghost" aria-label={`Delete ${id}`} onClick={() => remove(id)}>
                  Delete
                </Button>
              </span>
            )}
          />
        )}
      </CursorList>
      {isSetting && <SetTimer place={place} onClose={() => setSetting(false)} />}
      {question}
    </>
  );
}

function SetTimer({ place, onClose }: { readonly place: BindingPlace; readonly onClose: () => void }) {
  const { change, isPending, question } = useChanges(place);
  const [id, setId] = useState('');
  const [after, setAfter] = useState('60');
  const [every, setEvery] = useState('');
  const [cron, setCron] = useState('');
  const [payload, setPayload] = useState('null');
  const parsed = parseJson(payload);
  const number = (text: string, set: (text: string) => void, least: number) => ({
    type: 'number' as const,
    min: least,
    value: text,
    onChange: (event: { target: { value: string } }) => set(event.target.value),
  });
  return (
    <>
      <Dialog
        isOpen
        isWide
        onClose={onClose}
        title="Set timer"
        description={`${place.binding}, ${targetOf(place)}. Replaces a timer with the same ID.`}
        onSubmit={() =>
          parsed.isJson &&
          change({
            done: 'Timer set',
            failed: 'Could not set the timer',
            act: () =>
              dataOf(
                api.put('/projects/:id/timers/:timer/entry', {
                  params: { id: place.id, timer: place.binding },
                  query: { ...branchOf(place), key: id },
                  body: {
                    afterMs: Math.round(Number(after === '' ? '0' : after) * 1000),
                    payload: parsed.value,
                    ...(every !== '' && { intervalMs: Math.round(Number(every) * 1000) }),
                    ...(cron !== '' && { cron }),
                  },
                }),
              ),
            after: onClose,
          })
        }
        footer={
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" variant="primary" isPending={isPending} disabled={!parsed.isJson}>
              Set
            </Button>
          </>
        }
      >
        <FieldRow>
          <Field label="ID">
            {(control) => (
              <Input {...control} isCode required value={id} onChange={(event) => setId(event.target.value)} />
            )}
          </Field>
          <Field label="Delay (seconds)">{(control) => <Input {...control} {...number(after, setAfter, 0)} />}</Field>
        </FieldRow>
        <FieldRow>
          <Field label="Repeat every (seconds)" hint="Leave empty to fire once">
            {(control) => <Input {...control} {...number(every, setEvery, 1)} disabled={cron !== ''} />}
          </Field>
          <Field label="Or cron schedule (UTC)" hint="For example 0 3 * * *">
            {(control) => (
              <Input
                {...control}
                isCode
                value={cron}
                onChange={(event) => setCron(event.target.value)}
                disabled={every !== ''}
              />
            )}
          </Field>
        </FieldRow>
        <div className={styles.block}>
          <span className={styles.label}>Payload (JSON)</span>
          <Editor label="Payload" language="json" value={payload} onChange={setPayload} minHeight={60} />
          {!parsed.isJson && (
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
