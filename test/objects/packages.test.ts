// Packages that people build on durable objects, unmodified: partyserver, y-partyserver, @cloudflare/actors, hono and
// agents.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { WebSocket } from 'ws';
import type { TestDev } from '#test/setup/dev.ts';
import { objectPackages, objectPackagesMissing, withObjectWorker } from '#test/setup/object-packages.ts';
import { until } from '#test/setup/until.ts';

const skip = objectPackagesMissing;
const load = (file: string): Promise<unknown> => import(pathToFileURL(join(objectPackages, 'node_modules', file)).href);
const withWorker = (worker: string, objects: string, run: (dev: TestDev) => Promise<void>): Promise<void> =>
  withObjectWorker({ worker, objects }, run);

interface Visitor {
  readonly socket: WebSocket;
  readonly heard: string[];
}

async function enter(dev: TestDev, path: string): Promise<Visitor> {
  const socket = new WebSocket(`ws://127.0.0.1:${dev.port}${path}`, { headers: { host: `localhost:${dev.port}` } });
  const heard: string[] = [];
  socket.on('message', (data: Buffer) => void heard.push(data.toString()));
  await once(socket, 'open');
  return { socket, heard };
}

const json = async (dev: TestDev, path: string, options = {}): Promise<unknown> => {
  const { status, text } = await dev.fetch(path, options);
  assert.equal(status, 200, `${text}\n${dev.output}`);
  return JSON.parse(text) as unknown;
};

test('partyserver: a chat, with and without hibernation', { skip }, () =>
  withWorker('party', '{ CHAT: Chat, MEMORY: Memory }', async (dev) => {
    for (const party of ['chat', 'memory']) {
      const ada = await enter(dev, `/parties/${party}/lobby?name=ada`);
      const bob = await enter(dev, `/parties/${party}/lobby?name=bob`);
      await until(() => ada.heard.includes('bob joined'));
      assert.deepEqual(await json(dev, `/parties/${party}/lobby`), { room: 'lobby', people: 2 });
      ada.socket.send('hello');
      await until(() => ada.heard.includes('ada: hello') && bob.heard.includes('ada: hello'));
      bob.socket.close(1000, 'bye');
      await until(() => ada.heard.includes('bob left'));
      assert.deepEqual(await json(dev, `/lines/${party.toUpperCase()}`), ['hello']);
      ada.socket.close();
    }
  }),
);

test('y-partyserver: two visitors edit one document, which is stored', { skip }, () =>
  withWorker('document', '{ DOCUMENT: Document }', async (dev) => {
    // The module that the provider imports, too.
    const { Doc } = (await load('yjs/dist/yjs.mjs')) as { Doc: new () => YDoc };
    const { default: Provider } = (await load('y-partyserver/dist/provider/index.js')) as { default: ProviderClass };
    const open = (): { readonly text: YText; readonly provider: InstanceType<ProviderClass> } => {
      const doc = new Doc();
      const options = { party: 'document', WebSocketPolyfill: WebSocket, disableBc: true };
      return { text: doc.getText('text'), provider: new Provider(`127.0.0.1:${dev.port}`, 'notes', doc, options) };
    };
    const [one, two] = [open(), open()];
    try {
      one.text.insert(0, 'hello');
      await until(() => two.text.toString() === 'hello');
      two.text.insert(5, ' world');
      one.text.insert(0, '> ');
      await until(() => one.text.toString() === '> hello world' && two.text.toString() === '> hello world');
    } finally {
      one.provider.destroy();
      two.provider.destroy();
    }
    await until(async () => (await dev.fetch('/parties/document/notes')).text === '> hello world');
  }),
);

test('@cloudflare/actors: names, SQL migrations, calls of others, alarms', { skip }, () =>
  withWorker('actor', '{ COUNTER: COUNTER }', async (dev) => {
    assert.equal(await json(dev, '/add?name=a&at=1'), 1);
    assert.equal(await json(dev, '/add?name=a&at=2'), 2);
    assert.equal(await json(dev, '/add?name=b&at=1'), 1);
    assert.equal(await json(dev, '/other?name=a'), 1);
    await json(dev, '/wake?name=a');
    await until(async () => ((await json(dev, '/?name=a')) as { rang: unknown }).rang === 'woken');
    assert.deepEqual(await json(dev, '/?name=a'), { name: 'a', rang: 'woken' });
  }),
);

test('hono: upgradeWebSocket that calls an object, and an app inside of the object', { skip }, () =>
  withWorker('hono', '{ ROOM: Room }', async (dev) => {
    assert.deepEqual(await json(dev, '/lines', { method: 'POST', body: 'one' }), ['one']);
    assert.deepEqual(await json(dev, '/lines'), ['one']);
    const visitor = await enter(dev, '/socket');
    visitor.socket.send('hello');
    await until(() => visitor.heard.includes('the room heard hello'));
    visitor.socket.close();
  }),
);

test('agents: state that clients follow, a schedule, calls of clients', { skip }, () =>
  withWorker('agent', '{ ASSISTANT: Assistant }', async (dev) => {
    const client = await enter(dev, '/agents/assistant/one');
    const states = (): unknown[] =>
      client.heard
        .flatMap((text) => (text.startsWith('{') ? (JSON.parse(text) as { type: string; state?: unknown }) : []))
        .flatMap(({ type, state }) => (type === 'cf_agent_state' ? [state] : []));
    await until(() => states().length > 0);
    assert.deepEqual(states().at(-1), { count: 0, rang: null });
    assert.equal(await json(dev, '/add?by=2'), 2);
    await until(() => (states().at(-1) as { count: number }).count === 2);
    client.socket.send(JSON.stringify({ type: 'rpc', id: 'call-1', method: 'add', args: [3] }));
    await until(() => client.heard.some((text) => text.includes('call-1') && text.includes('"result":5')));
    client.socket.send('hello');
    await until(() => client.heard.includes('heard hello'));
    assert.equal(await json(dev, '/remind'), 'string');
    await until(() => (states().at(-1) as { rang: string | null }).rang === 'tea');
    client.socket.close();
  }),
);

interface YText {
  insert(at: number, text: string): void;
  toString(): string;
}
interface YDoc {
  getText(name: string): YText;
}
type ProviderClass = new (host: string, room: string, doc: YDoc, options: object) => { destroy(): void };
