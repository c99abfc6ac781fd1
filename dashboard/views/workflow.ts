// Runs of a workflow, each step by step: what went in, came out, failed, waits; cancel, pause, send an event, run again
// from a step.
import { get, parse, path, send } from '../api.ts';
import { button, confirmed, dialog, field } from '../components/controls.ts';
import { json, moment, pairs, panel, statusBadge, table } from '../components/display.ts';
import { element, fill } from '../components/element.ts';
import { live, type Live } from '../components/live.ts';
import { createPages } from '../components/pages.ts';
import type { View } from './view.ts';

interface Execution {
  readonly id: string;
  readonly status: string;
  readonly input: unknown;
  readonly output: unknown;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
}

interface Step {
  readonly name: string;
  readonly kind: 'run' | 'sleep' | 'event';
  readonly status: 'done' | 'failed' | 'waiting';
  readonly attempts: number;
  readonly result: unknown;
  readonly error: { readonly name: string; readonly message: string } | null;
  readonly wakeAt: number | null;
  readonly eventType: string | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
}

interface Detail extends Execution {
  readonly error: { readonly name: string; readonly message: string } | null;
  readonly createdAt: number;
  readonly steps: readonly Step[];
  readonly log: readonly { readonly at: number; readonly message: string; readonly content: unknown }[];
}

const stepMoods = { done: 'good', failed: 'bad', waiting: 'warn' } as const;

export const workflowView: View = (place) => {
  const base = path`/api/workflow/${place.binding}/executions`;
  const below = element('div');
  let detailEnds = new AbortController();
  place.signal.addEventListener('abort', () => detailEnds.abort());

  const pages = createPages('runs', () => shown.refresh());
  const shown: Live = live(
    place,
    async () => ({
      ...(await get<{ executions: Execution[]; cursor: string | null }>(`${base}?limit=100${pages.query}`)),
      page: pages.number,
    }),
    ({ executions, cursor }) => [
      table<Execution>(
        'Runs',
        [
          { title: 'Run', cell: ({ id }) => button(id, () => open(id)) },
          { title: 'Status', cell: ({ status }) => statusBadge(status) },
          { title: 'Started', cell: ({ startedAt }) => moment(startedAt) },
          { title: 'Ended', cell: ({ completedAt }) => moment(completedAt) },
          { title: 'Input', cell: ({ input }) => json(input, 200) },
        ],
        executions,
        'The workflow has not run yet',
      ),
      pages.bar(cursor),
    ],
  );

  function open(id: string): void {
    detailEnds.abort();
    detailEnds = new AbortController();
    const stage = { ...place, signal: detailEnds.signal };
    const detail: Live = live(
      stage,
      () => get<Detail>(base + path`/${id}`),
      (run) =>
        draw(run, async (route, body) => {
          await send('POST', base + path`/${id}` + route, body ?? {});
          await Promise.all([detail.refresh(), shown.refresh()]);
        }),
    );
    fill(below, detail.node);
  }

  async function start(): Promise<void> {
    const input = element('textarea', { name: 'input' }, '{}');
    await dialog('Start a run', 'Start', field('Input (JSON)', input), async () => {
      const { executionId } = await send<{ executionId: string }>('POST', base, {
        input: parse(input.value, 'The input'),
      });
      open(executionId);
    });
    await shown.refresh();
  }
  place.root.append(
    element('p', { class: 'row' }, button('Start a run', start, { kind: 'main' })),
    shown.node,
    element('p'),
    below,
  );
};

type Act = (route: string, body?: object) => Promise<void>;

function draw(run: Detail, act: Act): HTMLElement {
  const isActive = run.status === 'pending' || run.status === 'running' || run.status === 'paused';
  const actions = [
    isActive && button('Send an event', () => sendEvent(run, act), { kind: 'main' }),
    run.status === 'paused' ? button('Resume', () => act('/resume')) : isActive && button('Pause', () => act('/pause')),
    isActive &&
      button('Cancel', () => confirmed('Cancel this run?', 'Cancel the run', () => act('/cancel')), { kind: 'danger' }),
    button('Run again', () =>
      confirmed('Run it again from the beginning? What its steps returned is forgotten.', 'Run again', () =>
        act('/restart'),
      ),
    ),
  ];
  return panel(
    `Run ${run.id}`,
    pairs([
      ['Status', statusBadge(run.status)],
      ['Created', moment(run.createdAt)],
      ['Ended', moment(run.completedAt)],
      ['Input', json(run.input)],
      ['Output', run.output === null ? '–' : json(run.output)],
      ...(run.error === null
        ? []
        : ([['Error', element('span', { class: 'bad' }, `${run.error.name}: ${run.error.message}`)]] as const)),
    ]),
    element('p', { class: 'row' }, actions),
    element('h3', {}, 'Steps'),
    run.steps.length === 0
      ? element('p', { class: 'faint' }, 'No step has begun')
      : element(
          'ol',
          { class: 'timeline' },
          run.steps.map((step) => drawStep(step, act)),
        ),
    run.log.length > 0 && [
      element('h3', {}, 'Log'),
      run.log.map(({ at, message, content }) =>
        element(
          'div',
          { class: 'log' },
          element('span', { class: 'faint' }, moment(at)),
          element('span'),
          element('pre', {}, message, content === null ? '' : ` ${JSON.stringify(content)}`),
        ),
      ),
    ],
  );
}

function drawStep(step: Step, act: Act): HTMLElement {
  const { name, kind, status, attempts, result, error, wakeAt, eventType, endedAt, startedAt } = step;
  const words = [
    kind === 'event' ? `waits for the event "${eventType}"` : kind === 'sleep' ? 'sleeps' : null,
    attempts > 0 ? `${attempts} failed ${attempts === 1 ? 'attempt' : 'attempts'}` : null,
    endedAt === null ? null : `${Math.max(0, endedAt - startedAt)} ms`,
  ].filter((word) => word !== null);
  return element(
    'li',
    { class: stepMoods[status] },
    element(
      'div',
      { class: 'row' },
      element('strong', {}, name),
      statusBadge(status),
      element('span', { class: 'faint' }, words.join(', ')),
    ),
    wakeAt !== null && status === 'waiting' && element('div', { class: 'faint' }, 'goes on ', moment(wakeAt)),
    result !== null && json(result),
    error !== null && element('div', { class: 'bad' }, `${error.name}: ${error.message}`),
    button(
      'Run again from here',
      () =>
        confirmed(
          `Run it again from "${name}"? What this step and those after it returned is forgotten.`,
          'Run again',
          () => act('/restart', { fromStep: name }),
        ),
      { about: name },
    ),
  );
}

async function sendEvent(run: Detail, act: Act): Promise<void> {
  const waiting = run.steps.find(({ kind, status }) => kind === 'event' && status === 'waiting');
  const type = element('input', { name: 'type', required: true, value: waiting?.eventType ?? '' });
  const payload = element('textarea', { name: 'payload' }, '{}');
  await dialog('Send an event', 'Send', [field('Type', type), field('Payload (JSON)', payload)], () =>
    act('/events', { type: type.value, payload: parse(payload.value, 'The payload') }),
  );
}
