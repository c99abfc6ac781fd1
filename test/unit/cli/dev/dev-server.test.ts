// A framework's dev server under our care, with small Node programs in its place.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { startDevServer, type DevServer, type DevServerEvents } from '#cli/dev/server/dev-server.ts';
import { freePort, isListening } from '#cli/dev/server/listening.ts';

const HOST = '127.0.0.1';
/** Long enough that nothing of it happens in a test that does not wait for it. */
const NEVER = 1_000_000;
const times = { look: 5, silent: NEVER, pause: 1, pauseMax: 4, steady: NEVER, end: NEVER };
const listens = `require('node:http').createServer((q, s) => s.end(process.env.WORD + ' ' + process.pid)).listen(process.env.PORT, process.env.HOST);`;

type Told = { readonly [Name in keyof DevServerEvents]: Parameters<DevServerEvents[Name]>[] };

interface Running {
  readonly port: number;
  readonly server: DevServer;
  readonly told: Told;
  /** Settles when an event was told so many times. */
  until(name: keyof DevServerEvents, count?: number): Promise<void>;
  ask(): Promise<string>;
}

async function running(
  t: TestContext,
  script: string,
  own: Partial<typeof times> = {},
  word = 'one',
): Promise<Running> {
  const folder = mkdtempSync(path.join(tmpdir(), 'dev-server-'));
  // A shell starts in a tenth of the time of Node: for what need not listen.
  const isShell = script.startsWith('#!');
  writeFileSync(path.join(folder, 'server'), script);
  const told: Told = { line: [], listening: [], died: [], silent: [] };
  const looks = new Set<() => void>();
  const note =
    <Name extends keyof DevServerEvents>(name: Name) =>
    (...args: Parameters<DevServerEvents[Name]>): void => {
      (told[name] as Parameters<DevServerEvents[Name]>[]).push(args);
      for (const look of looks) look();
    };
  const port = await freePort(HOST);
  const server = await startDevServer({
    command: isShell ? 'sh server' : `"${process.execPath}" server`,
    folder,
    host: HOST,
    port,
    environment: () => ({ PATH: process.env['PATH'], WORD: word }),
    events: { line: note('line'), listening: note('listening'), died: note('died'), silent: note('silent') },
    times: { ...times, ...own },
  });
  t.after(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
  return {
    port,
    server,
    told,
    until: (name, count = 1) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (told[name].length < count) return;
          looks.delete(look);
          resolve();
        };
        looks.add(look);
        look();
      }),
    ask: async () => (await fetch(`http://${HOST}:${port}/`)).text(),
  };
}

test('it is told its port, its lines come whole, and closing ends all of its processes', async (t) => {
  const dev = await running(
    t,
    `const { spawn } = require('node:child_process');
     // As bundlers do: the port is held by a process that the first one has started.
     if (process.argv[2] !== 'inner') { process.stdout.write('half '); setTimeout(() => console.log('a line')); spawn(process.execPath, [__filename, 'inner'], { stdio: 'inherit' }); process.on('SIGTERM', () => process.exit()); }
     else { process.on('SIGTERM', () => {}); ${listens} }`,
  );
  await dev.until('listening');
  await dev.until('line');
  assert.deepEqual(dev.told.line, [['half a line', 'out']]);
  assert.match(await dev.ask(), /^one \d+$/);
  await dev.server.close();
  assert.equal(await isListening(HOST, dev.port), false);
});

test('one that ignores SIGTERM is killed', async (t) => {
  const dev = await running(t, `process.on('SIGTERM', () => {}); ${listens}`, { end: 1 });
  await dev.until('listening');
  await dev.server.close();
  assert.equal(await isListening(HOST, dev.port), false);
});

test('one that dies is started again, with pauses that double up to the longest', async (t) => {
  const dev = await running(t, '#!/bin/sh\necho no such module >&2; exit 3\n');
  await dev.until('died', 4);
  assert.deepEqual(
    dev.told.died.slice(0, 4).map(([{ how, pauseMs }]) => [how, pauseMs]),
    [1, 2, 4, 4].map((pauseMs) => ['exited with code 3', pauseMs]),
  );
  assert.deepEqual(dev.told.line[0], ['no such module', 'err']);
  assert.deepEqual(dev.told.listening, []);
});

test('one that is restarted has not died; one that is killed answers again, and says so as again', async (t) => {
  const dev = await running(t, listens);
  await dev.until('listening');
  const before = await dev.ask();
  dev.server.restart();
  await dev.until('listening', 2);
  const answer = await dev.ask();
  assert.notEqual(answer, before);
  assert.equal(dev.told.died.length, 0);
  const pid = Number(answer.split(' ')[1]);
  process.kill(pid, 'SIGKILL');
  await dev.until('listening', 3);
  assert.deepEqual(dev.told.listening, [[true], [false], [false]]);
  assert.match(dev.told.died[0]![0].how, /SIGKILL|code 137/);
  assert.notEqual(Number((await dev.ask()).split(' ')[1]), pid);
});

test('a changed file starts a dead one before its pause is over', async (t) => {
  const dev = await running(t, '#!/bin/sh\nexit 1\n', { pause: NEVER, pauseMax: NEVER });
  await dev.until('died');
  dev.server.restart();
  await dev.until('died', 2);
});

test('one that listens elsewhere is told of, with the port that it names', async (t) => {
  const dev = await running(t, '#!/bin/sh\necho Listening on http://localhost:8123/; exec sleep 600\n', {
    silent: 1,
    end: 1,
  });
  await dev.until('line');
  await dev.until('silent');
  const [{ otherPort }] = dev.told.silent[0]!;
  assert.equal(otherPort === null || otherPort === 8123, true);
  assert.deepEqual(dev.told.listening, []);
});

test('a missing program is told as such', async (t) => {
  const dev = await running(t, '#!/bin/sh\nexit 127\n');
  await dev.until('died');
  assert.match(dev.told.died[0]![0].advice!, /dependencies installed/);
});

test('a port that another program has is refused before anything starts', async () => {
  const other = createServer().listen(0, HOST);
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  try {
    await assert.rejects(
      startDevServer({
        command: 'exit 1',
        folder: tmpdir(),
        host: HOST,
        port,
        environment: () => ({}),
        events: { line() {}, listening() {}, died() {}, silent() {} },
      }),
      { message: `Port ${port} of ${HOST} is already in use` },
    );
  } finally {
    other.close();
  }
});
