// A queue: how it stands, its messages, its dead letters with their way back.
import { get, parse, path, send } from '../api.ts';
import { button, confirmed, dialog, field } from '../components/controls.ts';
import { figures, json, moment, size, table } from '../components/display.ts';
import { element } from '../components/element.ts';
import { live, type Live } from '../components/live.ts';
import { createPages } from '../components/pages.ts';
import type { View } from './view.ts';

interface Message {
  readonly id: string;
  readonly payload: unknown;
  readonly attempt: number;
  readonly timestamp: number;
  readonly dueAt: number | null;
  readonly deadReason: string | null;
}

interface Metrics {
  readonly backlogCount: number;
  readonly backlogBytes: number;
  readonly inFlightCount: number;
  readonly oldestMessageTimestamp: number | null;
  readonly deadCount: number;
}

interface List {
  readonly messages: readonly Message[];
  /** Number of the last, where more follow. */
  readonly next: number | null;
  readonly page: number;
}

export const queueView: View = (place) => {
  const base = path`/api/queue/${place.binding}`;
  const refresh = (): Promise<void> => shown.refresh();
  const pages = {
    waiting: createPages('messages', refresh, 'after'),
    dead: createPages('dead letters', refresh, 'after'),
  };
  const list = async (dead: boolean): Promise<List> => {
    const { query, number: page } = dead ? pages.dead : pages.waiting;
    return {
      ...(await get<Omit<List, 'page'>>(`${base}/messages?limit=100${dead ? '&dead=true' : ''}${query}`)),
      page,
    };
  };
  const shown: Live = live(
    place,
    async () => {
      const [metrics, waiting, dead] = await Promise.all([get<Metrics>(`${base}/metrics`), list(false), list(true)]);
      return { metrics, waiting, dead };
    },
    ({ metrics, waiting, dead }) => [
      figures([
        ['Messages', metrics.backlogCount],
        ['Size', size(metrics.backlogBytes)],
        ['Being delivered', metrics.inFlightCount],
        ['Oldest', moment(metrics.oldestMessageTimestamp)],
        ['Dead letters', metrics.deadCount],
      ]),
      element('h3', {}, 'Messages'),
      messages('Messages', waiting, false),
      element(
        'div',
        { class: 'row' },
        element('h3', { class: 'grow' }, 'Dead letters'),
        dead.messages.length > 0 && button('Redrive all', () => act('POST', '/redrive'), { kind: 'main' }),
        dead.messages.length > 0 &&
          button(
            'Delete all',
            () => confirmed('Delete all dead letters?', 'Delete', () => act('POST', '/purge?dead=true')),
            {
              kind: 'danger',
            },
          ),
      ),
      messages('Dead letters', dead, true),
    ],
  );
  const act = async (method: 'POST' | 'DELETE', route: string): Promise<void> => {
    await send(method, base + route);
    await shown.refresh();
  };

  function messages(caption: string, { messages: rows, next }: List, dead: boolean): HTMLElement {
    return element(
      'div',
      {},
      table<Message>(
        caption,
        [
          { title: 'Sent', cell: ({ timestamp }) => moment(timestamp) },
          { title: 'Payload', cell: ({ payload }) => json(payload) },
          { title: 'Attempts', kind: 'number', cell: ({ attempt }) => attempt },
          dead
            ? { title: 'Why', cell: ({ deadReason }) => deadReason ?? '' }
            : { title: 'Due', cell: ({ dueAt }) => moment(dueAt) },
          {
            title: '',
            kind: 'actions',
            cell: ({ id }) =>
              button(
                'Delete',
                () =>
                  confirmed('Delete this message?', 'Delete', () =>
                    act('DELETE', `${path`/messages/${id}`}${dead ? '?dead=true' : ''}`),
                  ),
                {
                  kind: 'danger',
                  about: `message ${id}`,
                },
              ),
          },
        ],
        rows,
        dead ? 'No dead letters' : 'No messages wait',
      ),
      (dead ? pages.dead : pages.waiting).bar(next),
    );
  }

  async function compose(): Promise<void> {
    const payload = element('textarea', { name: 'payload' }, '{}');
    const delay = element('input', { name: 'delay', type: 'number', min: 0, value: 0 });
    await dialog('Send a message', 'Send', [field('Payload (JSON)', payload), field('Delay in seconds', delay)], () =>
      send('POST', `${base}/messages`, {
        payload: parse(payload.value, 'The payload'),
        delaySeconds: Number(delay.value),
      }),
    );
    await shown.refresh();
  }
  place.root.append(element('p', { class: 'row' }, button('Send a message', compose, { kind: 'main' })), shown.node);
};
