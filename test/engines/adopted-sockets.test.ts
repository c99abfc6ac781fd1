// Connections that come to an engine's listening socket after the engine died: the supervisor and the spares are held
// still meanwhile, so that nobody can have been quick.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { until } from '#test/setup/until.ts';

/** The system chooses an engine for each by chance: that all of them choose the same does not happen. */
const CONNECTIONS = 40;
let platform: TestPlatform;
/** Processes that are held. */
const held = new Set<number>();

before(async () => {
  platform = await startPlatform(
    { hello: `export default { fetch: () => new Response('hello') };` },
    { HANDLER_PROCESSES: '2' },
  );
});
after(async () => {
  for (const pid of held) release(pid);
  await platform.close();
});

function hold(pid: number): void {
  process.kill(pid, 'SIGSTOP');
  held.add(pid);
}

function release(pid: number): void {
  process.kill(pid, 'SIGCONT');
  held.delete(pid);
}

/** Process ids once two engines serve and a spare is ready. */
async function ready(): Promise<{ serving: number[]; spares: number[] }> {
  return until(async () => {
    const { engines } = await platform.state();
    const serving = engines
      .filter(({ role, state }) => role === 'serving' && state === 'listening')
      .map(({ pid }) => pid);
    const spares = engines.filter(({ state }) => state === 'ready').map(({ pid }) => pid);
    return serving.length === 2 && spares.length === 1 && { serving, spares };
  });
}

/** Ends a process whose parent cannot know of it, and waits until the system has taken it apart. */
async function end(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL');
  await until(async () => /\) Z /.test(await readFile(`/proc/${pid}/stat`, 'latin1')));
}

/** Connections with a request on each. */
async function ask(): Promise<Socket[]> {
  return Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const socket = connect(platform.port, '127.0.0.1');
      await once(socket, 'connect');
      socket.write('GET / HTTP/1.1\r\nhost: hello.localhost\r\nconnection: close\r\n\r\n');
      return socket;
    }),
  );
}

/** What distinct answers they get. */
async function answers(sockets: readonly Socket[]): Promise<string[]> {
  const all = await Promise.all(
    sockets.map((socket) => text(socket).catch((error: NodeJS.ErrnoException) => error.code ?? '')),
  );
  return [...new Set(all.map((answer) => answer.split('\r\n').at(-1) ?? ''))];
}

test('connections that came to a dead engine are answered by the other one, and nobody waits for its successor', async () => {
  const { serving, spares } = await ready();
  hold(spares[0]!);
  hold(platform.supervisorPid);
  await end(serving[0]!);
  const early = await ask();
  release(platform.supervisorPid);
  assert.deepEqual(await answers(early), ['hello']);
  assert.deepEqual(await answers(await ask()), ['hello']);
  const { deaths, engines } = await platform.state();
  assert.equal(deaths, 1);
  assert.equal(engines.filter(({ state }) => state === 'listening').length, 1);
  release(spares[0]!);
  await ready();
  assert.deepEqual(await answers(await ask()), ['hello']);
});

test('connections that came to two dead engines wait for the next ones', async () => {
  const { serving, spares } = await ready();
  hold(spares[0]!);
  hold(platform.supervisorPid);
  await Promise.all(serving.map(end));
  const early = await ask();
  release(platform.supervisorPid);
  await until(async () => (await platform.state()).deaths === 3);
  const late = await ask();
  release(spares[0]!);
  assert.deepEqual(await answers(early), ['hello']);
  assert.deepEqual(await answers(late), ['hello']);
  await ready();
});

test('an engine that keeps the socket of a dead one and is replaced passes it on', async () => {
  const { serving, spares } = await ready();
  const keeper = (await platform.state()).engines.find(({ pid }) => pid === serving[1]!)!;
  // The spare takes the keeper's place, and no other process boots before that of the dead one is wanted.
  hold(platform.supervisorPid);
  await end(serving[0]!);
  hold(spares[0]!);
  release(platform.supervisorPid);
  await until(async () => (await platform.state()).deaths === 4);
  const replaced = platform.recycle(keeper.id);
  assert.deepEqual(await answers(await ask()), ['hello']);
  release(spares[0]!);
  await replaced;
  assert.deepEqual(await answers(await ask()), ['hello']);
  await ready();
  await until(async () => !(await platform.state()).engines.some(({ id }) => id === keeper.id));
  assert.deepEqual(await answers(await ask()), ['hello']);
});
