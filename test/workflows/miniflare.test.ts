// Ten workflows written as classes end here as they end on miniflare, and so do the calls of their binding.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { openEventsSqlite } from '#runtime/stores/event-stores-sqlite.ts';
import { until } from '#test/setup/until.ts';
import { startWorkflowEngine } from '#test/setup/workflow-engine.ts';
import { storyEnds, storyEvents, storyNames, storySource, storyYaml } from '#test/setup/workflow-stories.ts';

const prelude = `
const said = [];
const say = (...words) => { said.push(words.join(' ')); console.log(...words); };
const work = async (self, name, value) => value;
const noted = async (self, name) => say('undone', name);
const times = (name) => say('attempt', name, Date.now());
`;

/** One route a call of the binding; a refusal is an answer too. */
const routes = `
const calls = {
  create: async ([name, options], env) => (await env[name].create(options)).id,
  createBatch: async ([name, list], env) => (await env[name].createBatch(list)).map(({ id }) => id),
  status: async ([name, id], env) => (await env[name].get(id)).status(),
  on: async ([name, id, method, ...args], env) => (await env[name].get(id))[method](...args),
  said: () => said,
};
export default {
  async fetch(request, env) {
    try {
      const value = await calls[new URL(request.url).pathname.slice(1)](await request.json(), env);
      return Response.json({ value: value ?? null });
    } catch (error) {
      return Response.json({ threw: error.message });
    }
  },
};`;

const source = storySource(prelude) + routes;

interface Answer {
  readonly value?: unknown;
  readonly threw?: string;
}
type Ask = (name: string, ...args: unknown[]) => Promise<Answer>;

type StoryName = (typeof storyNames)[number];

/** Milliseconds before each retry, at least. */
const delays: Readonly<Partial<Record<StoryName, readonly number[]>>> = {
  Constant: [20, 20],
  Linear: [20, 40],
  Exponential: [20, 40, 80],
  Computed: [20, 40],
};

let platforms: { readonly ours: Ask; readonly theirs: Ask };
let close: () => Promise<void>;

async function startMiniflare(): Promise<{ ask: Ask; close(): Promise<void> }> {
  const require = createRequire(join(import.meta.dirname, '../../bench/package.json'));
  const { Miniflare } = (await import(pathToFileURL(require.resolve('miniflare')).href)) as {
    Miniflare: new (options: object) => {
      dispatchFetch(url: string, init: object): Promise<Response>;
      dispose(): Promise<void>;
    };
  };
  const miniflare = new Miniflare({
    modules: [{ type: 'ESModule', path: 'worker.js', contents: source }],
    compatibilityDate: '2026-07-01',
    workflows: Object.fromEntries(
      storyNames.map((name) => [name.toUpperCase(), { name: name.toLowerCase(), className: name }]),
    ),
  });
  return {
    async ask(name, ...args) {
      const init = { method: 'POST', body: JSON.stringify(args) };
      return (await miniflare.dispatchFetch(`http://shop.localhost/${name}`, init)).json() as Promise<Answer>;
    },
    close: () => miniflare.dispose(),
  };
}

before(async () => {
  const [theirs, engine] = await Promise.all([
    startMiniflare(),
    startWorkflowEngine({ files: { 'src/index.js': source }, yaml: storyYaml }, async (limits) => {
      const stores = openEventsSqlite({ file: ':memory:', limits });
      return { stores, close: () => stores.close() };
    }),
  ]);
  const ours: Ask = async (name, ...args) => {
    // Events have an isolate of their own here: what it says is in the log.
    if (name === 'said') return { value: engine.handler.logs.map(({ text }) => text) };
    const answer = await engine.handler.fetch('shop', `/${name}`, { method: 'POST', body: JSON.stringify(args) });
    return answer.json() as Answer;
  };
  platforms = { ours, theirs: theirs.ask };
  close = async () => {
    await Promise.all([engine.close(), theirs.close()]);
  };
});
after(() => close());

function expectedOf(name: StoryName, platform: string): object {
  const { message, ...end } = storyEnds[name];
  return platform === 'theirs' || message === undefined ? end : { message, ...end };
}

/** What the worker said after a word. */
async function saidAfter(ask: Ask, word: string): Promise<string[]> {
  const lines = (await ask('said')).value as string[];
  return lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));
}

/** How a run ended, with what both platforms say of it. */
async function endOf(ask: Ask, name: StoryName, id: string): Promise<Readonly<Record<string, unknown>>> {
  const binding = name.toUpperCase();
  const { status, output, error } = await until(async () => {
    const { value } = await ask('status', binding, id);
    const found = value as { status: string; output: unknown; error?: { message: string } };
    return ['complete', 'errored', 'terminated'].includes(found.status) && found;
  });
  if (status === 'complete') return { status, output };
  return { status, message: error?.message, undone: await saidAfter(ask, 'undone') };
}

for (const name of storyNames)
  test(`${name} ends as on miniflare`, async (t) => {
    for (const [platform, ask] of Object.entries(platforms)) {
      assert.deepEqual(await ask('create', name.toUpperCase(), { id: name }), { value: name });
      for (const event of storyEvents[name] ?? [])
        assert.deepEqual(await ask('on', name.toUpperCase(), name, 'sendEvent', event), { value: null });
      const { message, ...end } = await endOf(ask, name, name);
      // Of an error that must not be retried, miniflare says in its own words that nothing caught it.
      assert.deepEqual(
        platform === 'theirs' || message === undefined ? end : { message, ...end },
        expectedOf(name, platform),
      );
    }
    t.diagnostic(`${name}: equal`);
  });

test('retries wait at least as long as their backoff says', async () => {
  for (const [platform, ask] of Object.entries(platforms))
    for (const [name, least] of Object.entries(delays)) {
      const at = (await saidAfter(ask, `attempt ${name}`)).map(Number);
      assert.equal(at.length, least.length + 1, `${platform} ${name}`);
      const short = least.filter((ms, index) => at[index + 1]! - at[index]! < ms);
      assert.deepEqual(short, [], `${platform} ${name}`);
    }
});

test('runs are paused, resumed, terminated and restarted as on miniflare', async () => {
  for (const ask of Object.values(platforms)) {
    const on = (...args: unknown[]): Promise<Answer> => ask('on', 'EVENTS', 'steered', ...args);
    const statusOf = async (): Promise<string> => {
      const { value } = await ask('status', 'EVENTS', 'steered');
      return (value as { status: string }).status;
    };
    assert.deepEqual(await ask('createBatch', 'EVENTS', [{ id: 'steered' }]), { value: ['steered'] });
    await on('sendEvent', { type: 'paid', payload: { cents: 1 } });
    // miniflare calls a run that waits for an event running.
    await until(async () => ['waiting', 'running'].includes(await statusOf()));
    assert.deepEqual(await on('pause'), { value: null });
    await until(async () => (await statusOf()) === 'paused');
    assert.deepEqual(await on('resume'), { value: null });
    assert.deepEqual(await on('terminate'), { value: null });
    await until(async () => (await statusOf()) === 'terminated');
    assert.notEqual((await on('terminate')).threw, undefined);
    assert.deepEqual(await on('restart'), { value: null });
    for (const event of storyEvents.Events!) await on('sendEvent', event);
    assert.deepEqual(await endOf(ask, 'Events', 'steered'), storyEnds.Events);
    assert.match((await ask('status', 'EVENTS', 'none')).threw!, /instance\.not_found/);
  }
});

test('what differs on purpose, differs', async () => {
  const { ours, theirs } = platforms;
  for (const ask of [ours, theirs]) await ask('create', 'CAUGHT', { id: 'twice' });
  // The types of Cloudflare say that it throws; miniflare does not.
  assert.match((await ours('create', 'CAUGHT', { id: 'twice' })).threw!, /^instance\.already_exists/);
  assert.deepEqual(await theirs('create', 'CAUGHT', { id: 'twice' }), { value: 'twice' });
});
