// One trace of a request that runs SQL, fetches, sets a timer and queues a message that starts a workflow, on a whole
// platform: in a collector that checks OTLP's schema, from the API, and in the dashboard, in Chromium.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { openSharedDashboard, type SharedDashboard } from '#test/setup/shared-dashboard.ts';
import { receivedAt } from '#test/setup/otlp-receiver.ts';
import { API_PAUSE_MS, eventually, type Json } from '#test/setup/whole-platform.ts';

const yaml = `
queue: { MAIL: mail }
timer: { CLOCK: clock }
workflow: { ORDER: order }
state: { KV: kv }
db: { DB: guests }
service: { AUTH: traced-auth }
`;
const worker = (elsewhere: string): string => `
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === '/throw') throw new Error('no such guest');
    if (pathname === '/calls') return new Response(await env.AUTH.user(7));
    console.log('asked');
    await env.DB.prepare("SELECT 'hush' AS word, 42 AS n").all();
    await fetch('${elsewhere}/there');
    await env.CLOCK.set('soon', { afterMs: 1 });
    await env.MAIL.send({ to: 'ada' });
    return new Response('sent');
  },
  async message(message, env) { console.log('letter <b>bold</b>'); await env.ORDER.trigger({ item: 7 }); },
  async timer() { console.log('tick'); },
  workflows: {
    order: {
      async handler({ step, env }) {
        await step.run('save', () => env.KV.put('ordered', 'yes'));
        console.log('ordered');
      },
    },
  },
};`;
/** Each with the one that it is inside of. */
const tree: Readonly<Record<string, string | undefined>> = {
  'GET /shop': undefined,
  'database.run': 'GET /shop',
  fetch: 'GET /shop',
  'timer.set': 'GET /shop',
  'timer CLOCK': 'timer.set',
  'queue.send': 'GET /shop',
  'queue mail': 'queue.send',
  'workflow.trigger': 'queue mail',
  'workflow order': 'workflow.trigger',
  'state.put': 'workflow order',
  'step save': 'workflow order',
};

/** What those of them say. */
const LINES = ['asked', 'letter <b>bold</b>', 'ordered', 'tick'];

const auth = `
import { WorkerEntrypoint } from 'cloudflare:workers';
export default class extends WorkerEntrypoint {
  user(id) { return 'user ' + id; }
}`;

const PROJECT = 'traced-shop';
const CALLED = 'traced-auth';
let elsewhere: Server;
let dashboard: SharedDashboard;
let project: Json;
let called: Json;
let trace: Json;

before(async () => {
  elsewhere = createServer((_, response) => response.end('here'));
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  dashboard = await openSharedDashboard('traces');
  const { platform, organization } = dashboard;
  const origin = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  await deploy(CALLED, auth, '');
  await deploy(PROJECT, worker(origin), yaml);
  const { items } = await platform.call('GET', `/orgs/${organization.id}/projects`);
  project = items.find(({ name }: Json) => name === PROJECT);
  called = items.find(({ name }: Json) => name === CALLED);
  await ask('/throw');
  assert.deepEqual(await ask('/shop'), { status: 200, text: 'sent' });
});
afterEach(() => dashboard?.closePages());
after(async () => {
  await dashboard?.close();
  elsewhere?.close();
});

async function deploy(name: string, code: string, keys: string): Promise<void> {
  const folder = path.join(dashboard.platform.folder, name);
  mkdirSync(path.join(folder, 'src'), { recursive: true });
  writeFileSync(path.join(folder, 'platform.yaml'), `kind: worker\n${keys}`);
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ name, type: 'module' }));
  writeFileSync(path.join(folder, 'src/index.js'), code);
  await dashboard.platform.cli(folder, 'deploy');
}

function ask(at: string): Promise<{ readonly status: number; readonly text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const { handler: port } = dashboard.platform.ports;
  request({ host: '127.0.0.1', port, path: at, headers: { host: `${PROJECT}.localhost` } }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    response.on('end', () => resolve({ status: response.statusCode!, text }));
  })
    .on('error', reject)
    .end();
  return promise;
}

/** Names of spans, each with that of its parent. */
function treeOf(
  spans: readonly { readonly spanId: string; readonly parent: string | null | undefined; readonly name: string }[],
): object {
  const nameOf = new Map(spans.map(({ spanId, name }) => [spanId, name]));
  return Object.fromEntries(spans.map(({ name, parent }) => [name, nameOf.get(parent ?? '')]));
}

test('it comes out of the API as one trace, with the lines of all that took part', async () => {
  const { platform } = dashboard;
  const path = `/projects/${project.id}/traces`;
  trace = await eventually(
    'The whole trace',
    async () => {
      const { items } = await platform.call('GET', `${path}?route=/shop&status=2xx`);
      if (items.length === 0) return null;
      const read = await platform.call('GET', `${path}/${items[0].traceId}`);
      const names = new Set(read.spans.map(({ name }: Json) => name));
      return Object.keys(tree).every((name) => names.has(name)) && read.lines.length === LINES.length && read;
    },
    API_PAUSE_MS,
  );
  const { items } = await platform.call('GET', `${path}?route=/shop&status=2xx&msMin=0`);
  const [{ name, status, failures, spans }] = items;
  assert.deepEqual([name, status, failures, spans], ['GET /shop', 200, 0, trace.spans.length]);
  for (const narrowed of ['status=5xx&route=/shop', 'route=/other', 'msMin=100000', 'failed=true&route=/shop'])
    assert.deepEqual((await platform.call('GET', `${path}?${narrowed}`)).items, [], narrowed);
  assert.deepEqual(treeOf(trace.spans.map((span: Json) => ({ ...span, parent: span.parentId }))), tree);
  assert.deepEqual(trace.lines.map(({ text }: Json) => text).toSorted(), LINES);
});

test('it comes to the collector as the same trace, and everything that comes is OTLP', async () => {
  const { spans, problems } = await eventually('The same trace', async () => {
    const received = await receivedAt(dashboard.collectorUrl);
    const spans = received.spans.filter((_, at) => received.owners[at] === PROJECT);
    const count = spans.filter(({ traceId }) => traceId === trace.traceId).length;
    return count === trace.spans.length && { spans, problems: received.problems };
  });
  const mine = spans.filter(({ traceId }) => traceId === trace.traceId);
  assert.deepEqual(problems, []);
  assert.deepEqual(treeOf(mine.map((span) => ({ ...span, parent: span.parentSpanId }))), tree);
  // The root alone has no parent: whoever is named as one has come.
  const ids = new Set(spans.map(({ spanId }) => spanId));
  for (const { name, parentSpanId } of spans)
    assert.ok(parentSpanId === undefined || ids.has(parentSpanId), `the parent of ${name} is missing`);
  assert.equal(mine.filter(({ parentSpanId }) => parentSpanId === undefined).length, 1);
});

test('the dashboard shows it: in the list, its spans over time, one with what it says, its request and back', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/logs/traces`);
  await page.getByRole('link', { name: 'GET /throw' }).waitFor();
  await page.getByLabel('Status').selectOption('2xx');
  await page.getByRole('link', { name: 'GET /throw' }).waitFor({ state: 'detached' });
  await page.getByRole('table', { name: 'Traces' }).getByRole('link', { name: 'GET /shop' }).click();
  await page.waitForURL(`**/logs/traces/${trace.traceId}`);
  const spans = page.getByRole('list', { name: 'Spans' });
  await spans.getByRole('button', { name: 'step save' }).waitFor();
  const shown = await spans.getByRole('button').locator('code').allInnerTexts();
  assert.deepEqual(shown.toSorted(), Object.keys(tree).toSorted());
  await page.getByText('letter <b>bold</b>').waitFor();
  await spans.getByRole('button', { name: 'database.run' }).click();
  await page.getByRole('dialog').getByText('SELECT ? AS word, ? AS n').waitFor();
  await page.keyboard.press('Escape');
  await spans.getByRole('button', { name: 'queue mail' }).click();
  await page.getByRole('dialog').getByText('letter <b>bold</b>').waitFor();
  const { invocation } = trace.spans.find(({ name }: Json) => name === 'queue mail');
  await page.getByRole('dialog').locator(`a[href*="invocation=${invocation}"]`).click();
  await page.waitForURL(/\/logs\/requests\?/);
  await page.getByRole('dialog').getByRole('link', { name: 'View trace' }).click();
  await page.waitForURL(`**/logs/traces/${trace.traceId}`);
});

test('the overview shows which project is called, and which calls it', async () => {
  assert.deepEqual(await ask('/calls'), { status: 200, text: 'user 7' });
  await eventually(
    'The call among those of both',
    async () => {
      const { callers } = await dashboard.platform.call('GET', `/projects/${called.id}/calls`);
      return callers.length > 0;
    },
    API_PAUSE_MS,
  );
  const page = await dashboard.visit(`/projects/${PROJECT}`);
  const calls = page.getByRole('table', { name: 'Calls, last hour' });
  await calls.getByRole('cell', { name: 'AUTH.user' }).waitFor();
  await calls.getByRole('link', { name: CALLED }).click();
  const callers = page.getByRole('table', { name: 'Called by, last hour' });
  await callers.getByRole('link', { name: PROJECT }).waitFor();
});

test('a line leads to its trace', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/logs?search=tick`);
  await page.getByRole('log').getByText('tick').first().click();
  await page.getByRole('dialog').getByRole('link', { name: 'View trace' }).click();
  await page.waitForURL(`**/logs/traces/${trace.traceId}`);
});

test('a trace that failed says where and why', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/logs/traces?outcome=failed`);
  await page.getByRole('link', { name: 'GET /throw' }).click();
  await page.getByRole('list', { name: 'Spans' }).getByRole('button', { name: 'GET /throw' }).click();
  await page.getByRole('dialog').getByText('worker_threw: The worker threw: no such guest').waitFor();
});

test('a trace that is not kept is not found', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/logs/traces/${'1'.repeat(32)}`);
  await page.getByText('Trace not found').waitFor();
});

const pages: readonly (readonly [name: string, at: () => string])[] = [
  ['calls', () => `/projects/${PROJECT}`],
  ['traces', () => `/projects/${PROJECT}/logs/traces`],
  ['trace', () => `/projects/${PROJECT}/logs/traces/${trace.traceId}`],
  ['span', () => `/projects/${PROJECT}/logs/traces/${trace.traceId}?span="${trace.spans[1].spanId}"`],
];
for (const [name, at] of pages)
  test(`the page ${name} fits every screen, in both themes, without a serious fault for axe`, () =>
    dashboard.inspect(name, at()));

test('nothing was refused by the policy, and no page broke', () => {
  assert.deepEqual(dashboard.complaints, []);
});
