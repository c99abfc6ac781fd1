// A queue: counts, dead letters with reasons, waiting messages; redrive, delete, send.
import { PaperPlaneIcon, ReloadIcon } from '@radix-ui/react-icons';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { CursorList } from '../../components/cursor-list.tsx';
import { Dialog, Sheet } from '../../components/dialog.tsx';
import { Editor } from '../../components/editor.tsx';
import { Field, FieldRow, Input } from '../../components/field.tsx';
import { EmptyState, ErrorState, Notice } from '../../components/notice.tsx';
import { countText } from '../../components/text.ts';
import { Facts } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { TabLink, TabLinks } from '../../components/tabs.tsx';
import { Time } from '../../components/time.tsx';
import { Id } from '../../components/id.tsx';
import { branchOf, messagesQuery, queueStatsQuery, type BindingPlace } from '../../queries/resources.ts';
import type { QueueSearch } from '../../queries/resource-search.ts';
import { AreaPage } from '../storage/binding-page.tsx';
import { targetOf, useChanges } from '../storage/changes.tsx';
import { jobsArea, bindingKind } from '../storage/kinds.ts';
import styles from '../storage/storage.module.css';
import { bytesText, jsonLine, JsonValue } from '../storage/value.tsx';
import { Activity } from './activity.tsx';
import { parseJson } from './json.ts';

export function QueuesPage() {
  return (
    <AreaPage area={jobsArea} kind={bindingKind('queue')}>
      {(place) => <Queue key={`${place.binding} ${place.branch ?? ''}`} place={place} />}
    </AreaPage>
  );
}

interface Message {
  readonly id: string;
  readonly payload: unknown;
  readonly attempt: number;
  readonly timestamp: number;
  readonly dueAt: number | null;
  readonly deadReason: string | null;
}

function Queue({ place }: { readonly place: BindingPlace }) {
  const { list, message } = useSearch({ strict: false }) as QueueSearch;
  const navigate = useNavigate();
  const isDead = list !== 'waiting';
  const stats = useQuery(queueStatsQuery(place));
  const query = useInfiniteQuery(messagesQuery(place, isDead));
  const { change, isPending, question } = useChanges(place);
  const [isSending, setSending] = useState(false);
  const [isPurging, setPurging] = useState(false);
  const params = { id: place.id, queue: place.binding };
  const open = (next: string | undefined): void =>
    void navigate({ to: '.', search: (before: object) => ({ ...before, message: next }) } as never);
  const redrive = (one: string | null): void =>
    change({
      done: one === null ? 'All dead letters redriven' : 'Message redriven',
      failed: 'Could not redrive the messages',
      act: () =>
        dataOf(
          api.post('/projects/:id/queues/:queue/redrive', {
            params,
            query: { ...branchOf(place), ...(one !== null && { message: one }) },
          }),
        ),
      after: () => open(undefined),
    });
  const remove = (one: string): void =>
    change({
      done: 'Message deleted',
      failed: 'Could not delete the message',
      act: () =>
        dataOf(
          api.delete('/projects/:id/queues/:queue/messages/:message', {
            params: { ...params, message: one },
            query: { ...branchOf(place), dead: isDead },
          }),
        ),
      after: () => open(undefined),
    });
  const items: readonly Message[] = query.data?.pages.flatMap((page) => page.items) ?? [];
  const opened = items.find(({ id }) => id === message);
  const dead = stats.data?.deadCount ?? 0;
  return (
    <>
      {stats.error !== null && <ErrorState title="Could not load the queue" error={stats.error} />}
      <dl className={styles.stats}>
        <div>
          <dt>Waiting</dt>
          <dd>{stats.data === undefined ? '–' : countText(stats.data.backlogCount)}</dd>
        </div>
        <div>
          <dt>In delivery</dt>
          <dd>{stats.data === undefined ? '–' : countText(stats.data.inFlightCount)}</dd>
        </div>
        <div>
          <dt>Dead letters</dt>
          <dd>{stats.data === undefined ? '–' : countText(dead)}</dd>
        </div>
        <div>
          <dt>Size</dt>
          <dd>{stats.data === undefined ? '–' : bytesText(stats.data.backlogBytes)}</dd>
        </div>
        <div>
          <dt>Oldest</dt>
          <dd>{stats.data?.oldestMessageTimestamp == null ? '–' : <Time at={stats.data.oldestMessageTimestamp} />}</dd>
        </div>
      </dl>
      <Activity place={place} kind="queue" title="Deliveries" />
      <div className={styles.bar}>
        <TabLinks label="Messages" isInner>
          <TabLink
            to="."
            search={(before: QueueSearch) => ({ ...before, list: undefined, message: undefined })}
            aria-current={isDead ? 'page' : undefined}
            activeOptions={{ exact: true, includeSearch: true }}
          >
            Dead letters
          </TabLink>
          <TabLink
            to="."
            search={(before: QueueSearch) => ({ ...before, list: 'waiting' as const, message: undefined })}
            aria-current={isDead ? undefined : 'page'}
            activeOptions={{ exact: true, includeSearch: true }}
          >
            Messages
          </TabLink>
        </TabLinks>
        {items.length > 0 && (
          <Button variant="ghost" onClick={() => setPurging(true)}>
            Delete all
          </Button>
        )}
        {isDead && dead > 0 && (
          <Button onClick={() => redrive(null)} isPending={isPending}>
            <ReloadIcon />
            Redrive all
          </Button>
        )}
        <Button variant="primary" onClick={() => setSending(true)}>
          <PaperPlaneIcon />
          Send message
        </Button>
      </div>
      <CursorList
        name="messages"
        query={query}
        empty={
          isDead ? (
            <EmptyState title="No dead letters">
              Messages appear here, with the reason, when all delivery attempts have failed.
            </EmptyState>
          ) : (
            <EmptyState title="No waiting messages">
              {`To send one, call \`await env.${place.binding}.send({ hello: 'world' })\` in your worker.`}
            </EmptyState>
          )
        }
      >
        {(messages: readonly Message[]) => (
          <Table
            label={isDead ? 'Dead letters' : 'Messages'}
            rows={messages}
            rowKey={({ id }) => id}
            onOpen={({ id }) => open(id)}
            selectedKey={message ?? null}
            columns={[
              {
                id: 'payload',
                header: 'Payload',
                phone: 'first',
                cell: ({ payload }) => (
                  <span className={`${styles.mono} ${styles.line}`}>{jsonLine(payload, 120)}</span>
                ),
              },
              isDead
                ? {
                    id: 'reason',
                    header: 'Reason',
                    cell: ({ deadReason }) => <span className={styles.line}>{deadReason ?? 'unknown'}</span>,
                  }
                : {
                    id: 'due',
                    header: 'Delivered',
                    isLabelled: true,
                    cell: ({ dueAt }) => (dueAt === null ? '' : <Time at={dueAt} />),
                  },
              { id: 'attempt', header: 'Attempts', align: 'end', isFitted: true, cell: ({ attempt }) => attempt },
              {
                id: 'sent',
                header: 'Sent',
                isLabelled: true,
                isFitted: true,
                cell: ({ timestamp }) => <Time at={timestamp} />,
              },
            ]}
            actions={
              isDead
                ? ({ id }) => (
                    <Button size="small" onClick={() => redrive(id)} aria-label={`Redrive ${id}`}>
                      Redrive
                    </Button>
                  )
                : undefined
            }
          />
        )}
      </CursorList>
      {opened !== undefined && (
        <Sheet
          isOpen
          onClose={() => open(undefined)}
          title={isDead ? 'Dead letter' : 'Message'}
          description={`${place.binding}, ${targetOf(place)}`}
          footer={
            <>
              <Button variant="danger" onClick={() => remove(opened.id)} isPending={isPending}>
                Delete
              </Button>
              {isDead && (
                <Button variant="primary" onClick={() => redrive(opened.id)} isPending={isPending}>
                  Redrive
                </Button>
              )}
            </>
          }
        >
          {opened.deadReason !== null && (
            <Notice tone="failed" title="Reason">
              <span className={styles.mono}>{opened.deadReason}</span>
            </Notice>
          )}
          <Facts
            facts={[
              ['ID', <Id key="id" id={opened.id} chars={24} />],
              ['Sent', <Time key="sent" at={opened.timestamp} isExact />],
              ['Attempts', opened.attempt],
              ['Delivered', opened.dueAt === null || isDead ? null : <Time key="due" at={opened.dueAt} />],
            ]}
          />
          <div className={styles.block}>
            <span className={styles.label}>Payload</span>
            <JsonValue value={opened.payload} />
          </div>
        </Sheet>
      )}
      {isSending && <SendMessage place={place} onClose={() => setSending(false)} />}
      {question}
      <Confirm
        isOpen={isPurging}
        onClose={() => setPurging(false)}
        title={isDead ? 'Delete all dead letters?' : 'Delete all messages?'}
        action="Delete all"
        isDanger
        onConfirm={() => {
          setPurging(false);
          change({
            done: isDead ? 'Dead letters deleted' : 'Messages deleted',
            failed: 'Could not delete the messages',
            act: () =>
              dataOf(
                api.post('/projects/:id/queues/:queue/purge', { params, query: { ...branchOf(place), dead: isDead } }),
              ),
          });
        }}
      >
        {isDead ? `All ${dead} dead letters` : 'All messages that are not in delivery'} of {place.binding} (
        {targetOf(place)}) will be deleted.
      </Confirm>
    </>
  );
}

function SendMessage({ place, onClose }: { readonly place: BindingPlace; readonly onClose: () => void }) {
  const { change, isPending, question } = useChanges(place);
  const [payload, setPayload] = useState('{\n  "hello": "world"\n}');
  const [delay, setDelay] = useState('');
  const [isTried, setTried] = useState(false);
  const parsed = parseJson(payload);
  const submit = (): void => {
    setTried(true);
    if (!parsed.isJson) return;
    change({
      done: 'Message sent',
      failed: 'Could not send the message',
      act: () =>
        dataOf(
          api.post('/projects/:id/queues/:queue/messages', {
            params: { id: place.id, queue: place.binding },
            query: branchOf(place),
            body: { payload: parsed.value, ...(delay !== '' && { delaySeconds: Number(delay) }) },
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
        title="Send message"
        description={`${place.binding}, ${targetOf(place)}`}
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
        <div className={styles.block}>
          <span className={styles.label}>Payload (JSON)</span>
          <Editor label="Payload" language="json" value={payload} onChange={setPayload} onRun={submit} />
          {isTried && !parsed.isJson && (
            <span role="alert" style={{ color: 'var(--failed)' }}>
              Invalid JSON: {parsed.problem}
            </span>
          )}
        </div>
        <FieldRow>
          <Field label="Delay (seconds)" hint="Leave empty to deliver immediately">
            {(control) => (
              <Input
                {...control}
                type="number"
                min={0}
                value={delay}
                onChange={(event) => setDelay(event.target.value)}
              />
            )}
          </Field>
        </FieldRow>
      </Dialog>
      {question}
    </>
  );
}
