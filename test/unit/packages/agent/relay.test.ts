// The relay between a run and the messenger that came with a message: what is said where nobody serves it any more. The
// state is a map, with versions as the real one has them.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

interface RelayTimes {
  readonly heldMs: number;
  readonly lookMs: number;
  readonly takenMs: number;
  readonly doneMs: number;
}

type Said = (...args: unknown[]) => Promise<void>;

interface Messenger {
  readonly sendMessage: Said;
  readonly sendDocument: Said;
  readonly sendTypingIndicator: Said;
  readonly sendPartialMessage?: Said;
}

interface Env {
  readonly PLATFORM_AGENT_STATE: { delete(key: string): Promise<void> };
}

/** Not by its types: they bring the globals of workers into all of the repository. */
const { relayMessenger, openRelay, serveRelay } = (await import(
  pathToFileURL(join(import.meta.dirname, '../../../../packages/agent/relay.ts')).href
)) as {
  openRelay(env: Env, messenger: Messenger): Promise<string>;
  serveRelay(
    env: Env,
    relay: string,
    messenger: Messenger,
    isWaitedFor: () => Promise<boolean>,
    times: RelayTimes,
  ): Promise<void>;
  relayMessenger(env: Env, relay: string, otherwise: Messenger, times: RelayTimes): Messenger;
};

/** A side that is gone is given up at once, and one that is there never. */
const GONE: RelayTimes = { heldMs: 600_000, lookMs: 1, takenMs: 0, doneMs: 0 };
const THERE: RelayTimes = { heldMs: 600_000, lookMs: 600_000, takenMs: 600_000, doneMs: 600_000 };
const OVER: RelayTimes = { ...THERE, heldMs: 0 };

function bindings(): { env: Env; values: Map<string, string>; files: Map<string, unknown> } {
  const values = new Map<string, string>();
  const files = new Map<string, unknown>();
  const state = {
    getWithMetadata: async (key: string) => ({ value: values.get(key) ?? null, version: values.get(key) ?? null }),
    async compareAndSet(key: string, version: string | null, value: string) {
      if ((values.get(key) ?? null) !== version) return false;
      values.set(key, value);
      return true;
    },
    getJSON: async (key: string) => JSON.parse(values.get(key) ?? 'null') as unknown,
    setJSON: async (key: string, value: unknown) => void values.set(key, JSON.stringify(value)),
    delete: async (key: string) => void values.delete(key),
  };
  const stored = {
    put: async (key: string, value: unknown) => void files.set(key, value),
    get: async (key: string) => ({ text: async () => files.get(key), bytes: async () => files.get(key) }),
    delete: async (key: string) => void files.delete(key),
  };
  return { env: { PLATFORM_AGENT_STATE: state, PLATFORM_AGENT_FILES: stored } as Env, values, files };
}

function recorder(): { messenger: Messenger; heard: unknown[][]; came: Promise<void> } {
  const heard: unknown[][] = [];
  let arrive = (): void => {};
  const came = new Promise<void>((resolve) => (arrive = resolve));
  const hear =
    (name: string) =>
    async (...args: unknown[]): Promise<void> => {
      heard.push([name, ...args]);
      arrive();
    };
  const messenger: Messenger = {
    sendMessage: hear('message'),
    sendDocument: hear('document'),
    sendTypingIndicator: hear('typing'),
    sendPartialMessage: hear('partial'),
  };
  return { messenger, heard, came };
}

const partial = (delta: string, text: string) => ({ key: 'k', text, delta, step: 1, isFinal: false });

test('what is said to a request that died goes through the registered messenger, and nothing waits for it', async () => {
  const { env, values, files } = bindings();
  const [given, registered] = [recorder(), recorder()];
  const relay = await openRelay(env, given.messenger);
  const said = relayMessenger(env, relay, registered.messenger, GONE);
  await said.sendMessage('chat', 'hello', { idempotencyKey: 'run:final' });
  await said.sendDocument('chat', 'a.txt', 'text');
  await said.sendTypingIndicator('chat');
  assert.deepEqual(registered.heard, [
    ['message', 'chat', 'hello', { idempotencyKey: 'run:final' }],
    ['document', 'chat', 'a.txt', 'text'],
    ['typing', 'chat'],
  ]);
  assert.deepEqual([given.heard, files.size], [[], 0]);
  assert.deepEqual((JSON.parse(values.get(`agent:relay:${relay}`)!) as { said: unknown[] }).said, []);
});

test('a request that has been held for long enough leaves what is said to the registered messenger', async () => {
  const { env } = bindings();
  const [given, registered] = [recorder(), recorder()];
  const relay = await openRelay(env, given.messenger);
  await serveRelay(env, relay, given.messenger, async () => true, OVER);
  // The run need not find out by waiting.
  await relayMessenger(env, relay, registered.messenger, THERE).sendMessage('chat', 'late');
  assert.deepEqual([given.heard, registered.heard], [[], [['message', 'chat', 'late']]]);
});

test('a request is let go when no run will say anything any more', async () => {
  const { env, values } = bindings();
  const { messenger } = recorder();
  const relay = await openRelay(env, messenger);
  await serveRelay(env, relay, messenger, async () => false, { ...THERE, lookMs: 1 });
  assert.equal(values.size, 0);
});

test('a message that a run sends again after a crash is sent once', async () => {
  const { env } = bindings();
  const [given, registered] = [recorder(), recorder()];
  const relay = await openRelay(env, given.messenger);
  const served = serveRelay(env, relay, given.messenger, async () => true, THERE);
  const said = relayMessenger(env, relay, registered.messenger, THERE);
  await said.sendMessage('chat', 'hello', { idempotencyKey: 'run:final' });
  await said.sendMessage('chat', 'hello', { idempotencyKey: 'run:final' });
  await env.PLATFORM_AGENT_STATE.delete(`agent:relay:${relay}`);
  await served;
  assert.deepEqual(given.heard, [['message', 'chat', 'hello', { idempotencyKey: 'run:final' }]]);
  assert.deepEqual(registered.heard, []);
});

test('partial answers that wait become one, and none is written for a messenger that takes none', async () => {
  const { env, values } = bindings();
  const given = recorder();
  const relay = await openRelay(env, given.messenger);
  const said = relayMessenger(env, relay, recorder().messenger, THERE);
  await said.sendPartialMessage!('chat', partial('one ', 'one '));
  await said.sendPartialMessage!('chat', partial('two', 'one two'));
  const served = serveRelay(env, relay, given.messenger, async () => true, THERE);
  await given.came;
  await env.PLATFORM_AGENT_STATE.delete(`agent:relay:${relay}`);
  await served;
  assert.deepEqual(given.heard, [['partial', 'chat', partial('one two', 'one two')]]);
  const { sendPartialMessage: _, ...without } = given.messenger;
  const other = await openRelay(env, without);
  const before = values.get(`agent:relay:${other}`);
  await relayMessenger(env, other, given.messenger, THERE).sendPartialMessage!('chat', partial('a', 'a'));
  assert.equal(values.get(`agent:relay:${other}`), before);
});
