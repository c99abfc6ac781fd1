// Clients that leave before their answer is complete, at each point of a request, a handler and `platform dev`. Engines
// that forward: test/engines/client-leaves.test.ts.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { leave, leavingWorker, leavings, saidOf, testLeavings, type Left } from '#test/setup/client-leaves.ts';
import { startDevHere, type TestDev } from '#test/setup/dev.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';
import { until } from '#test/setup/until.ts';

/** Calls the host before any request. */
const early = `const told = fetch('http://app.localhost/').catch((error) => error.message);
export default { fetch: async () => new Response(await told) };
`;

let handler: TestHandler;
let folder: string;
let dev: TestDev;
before(async () => {
  handler = await startHandler({ app: leavingWorker, early });
  folder = mkdtempSync(path.join(tmpdir(), 'platform-leaves-'));
  mkdirSync(path.join(folder, 'src'));
  writeFileSync(path.join(folder, 'src/index.js'), leavingWorker);
  dev = await startDevHere(folder);
});
after(async () => {
  await dev.close();
  await handler.close();
  rmSync(folder, { recursive: true });
});

const ofHandler = (): Left => ({ port: handler.port, host: 'app.localhost' });

describe('a handler', () => testLeavings(ofHandler, 1));
describe('platform dev', () => testLeavings(() => ({ port: dev.port, host: 'localhost' }), 1));

/** How its request ended, once it has. */
const endOf = (name: string): Promise<string> =>
  until(() => {
    const ended = handler.requests.find(({ target }) => target === `/${name}`);
    return ended === undefined ? null : ended.outcome.kind === 'ok' ? 'ok' : ended.outcome.code;
  });

test('what is recorded of a request whose client left is that it left, or how its handler failed', async () => {
  for (const [, step, more] of leavings) {
    await leave(ofHandler(), `${step}-recorded`, more);
    assert.equal(await endOf(`${step}-recorded`), step === 'throws' ? 'worker_threw' : 'client_gone', step);
  }
});

test('a client leaves before its handler spins: its CPU is bounded as ever', async () => {
  await leave(ofHandler(), 'spins', '\r\n');
  assert.equal(await endOf('spins'), 'cpu_limit_exceeded');
});

test('a handler that throws answers at once, and loses nothing of what it gave to waitUntil', async () => {
  const answer = await handler.fetch('app', '/refuses');
  assert.equal(answer.status, 500);
  assert.deepEqual(await saidOf(ofHandler(), 'refuses'), ['begins', 'ends']);
  await handler.fetch('app', '/release');
  assert.equal(await endOf('refuses'), 'worker_threw');
  assert.deepEqual(await saidOf(ofHandler(), 'refuses'), ['begins', 'ends', 'waited']);
});

test('what a module calls at its top level says that it is called there', async () => {
  const { text } = await handler.fetch('early');
  assert.equal(text, 'Bindings and fetch cannot be called at the top level of a module: call them in a handler');
});
