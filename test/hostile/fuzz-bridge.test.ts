// The bridge from the guest's side: a real deployment whose isolate says anything at all. Whatever it says, the host
// goes on, every request ends once, and an isolate that makes no sense is disposed. FUZZ_SECONDS makes it last,
// FUZZ_SEED repeats it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { toWorkerText } from '#core/worker-text.ts';
import { EngineMemory } from '#runtime/engine/bridge/host-memory.ts';
import { FIELD, RECORD, toHost } from '#runtime/engine/bridge/protocol.ts';
import { Deployment, type DeploymentDeps } from '#runtime/engine/serving/deployment.ts';
import type { IsolateEvents } from '#runtime/engine/isolates/isolate-events.ts';
import { DeploymentCounters, EngineCounters } from '#runtime/engine/metrics/counters.ts';
import { EngineUsage } from '#runtime/engine/metrics/usage.ts';
import type { Exchange } from '#runtime/engine/http/listener.ts';
import { MainThreadBudget } from '#runtime/engine/bridge/main-thread-budget.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

const random = createSeededRandom();
const seconds = Number(process.env['FUZZ_SECONDS'] ?? 3);
const letters = Object.values(toHost);
const fields = [
  '0', '1', '2', '3', '-1', '35184372088832', '35184372088833', '1e9', 'NaN', 'Infinity', '99999999999999999999', '', '-', 's', 'b', 't0', 't3', 't999999999', 't-5', 'tx',
  'null', '{}', '[]', '"x"', '{"toString":1}', '{"code":"worker_threw","name":"Error","message":"x","passThrough":true}', '{"code":"cpu_limit_exceeded"}', '{"code":5}', '[[[[', 'ready', 'failed',
  '1,2,3', ',,', 'fetch', 'echo', 'never', 'stream', 'receive', 'socket', '__proto__', 'constructor', '200', '101', '999', '1005', 'x'.repeat(300),
]; // prettier-ignore

/** One answer of a guest: records of all kinds, some of them cut, doubled or mixed up. */
function answer(): { meta: string; text: string; bytes: Uint8Array[] } {
  let meta = '';
  for (let count = random.below(6); count >= 0; count--) {
    const letter = random.below(20) === 0 ? random.pick(['?', '', 'ZZ', FIELD]) : random.pick(letters);
    meta += letter + FIELD;
    for (let more = random.below(7); more > 0; more--) meta += random.pick(fields) + FIELD;
    if (random.below(30) > 0) meta += RECORD;
  }
  if (random.below(10) === 0) meta = meta.slice(random.below(meta.length));
  if (random.below(10) === 0) meta = meta.slice(0, random.below(meta.length));
  const bytes = Array.from({ length: random.below(4) }, () => new Uint8Array(random.below(100)));
  return { meta, text: 'x'.repeat(random.below(10)), bytes };
}

/** A response of the right form for a request, so that later states are reached too. */
function plausible(): { meta: string; text: string; bytes: Uint8Array[] } {
  const id = 1 + random.below(8);
  const body = random.pick(['-', 't3', 's', 'b']);
  const over = random.pick(['1', '']);
  const meta = [toHost.response, id, 200, 't0', body, over].map((field) => `${field}${FIELD}`).join('') + RECORD;
  const chunk = [toHost.chunk, id, 't3'].map((field) => `${field}${FIELD}`).join('') + RECORD;
  return { meta: random.below(2) === 0 ? meta : meta + chunk, text: 'abcdef', bytes: [new Uint8Array(3)] };
}

test('whatever a guest says, the host goes on and every request ends once', async (t) => {
  const unhandled: unknown[] = [];
  const onUnhandled = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', onUnhandled);
  t.after(() => process.off('unhandledRejection', onUnhandled));
  let said: IsolateEvents | null = null;
  let disposed = 0;
  const isolate = (): object => ({
    entryState: 'idle',
    load: (_code: unknown, _records: unknown, events: IsolateEvents) => {
      said = events;
      return Promise.resolve(null);
    },
    request() {},
    checkAlive() {},
    checkOverflow() {},
    dispose() {
      disposed++;
      return 0;
    },
  });
  const scope = 'receive';
  const hostMemory = new EngineMemory(defaultLimits);
  let unending = 0;
  const deps = {
    pool: { take: isolate, release() {}, loads: { add: (load: () => void) => load() } },
    hostMemory,
    hostFunctions: {
      async: {
        echo: ({ args, parts }: { args: unknown; parts: [] }) => ({ value: args, parts }),
        never: () => {
          unending++;
          return new Promise(() => {});
        },
        stream: ({ isolate }: { isolate: { openStream(source: object): { id: number } } }) => ({
          value: isolate.openStream({ resume() {}, cancel() {} }).id,
        }),
        [scope]: ({
          args,
          isolate,
        }: {
          args: unknown;
          isolate: { receiveStream(id: unknown, sink: object): void };
        }) => {
          isolate.receiveStream(args, { write: () => true, end() {}, destroy() {} });
          return {};
        },
        socket: ({ args, isolate }: { args: number; isolate: { openSocket(id: number, owner: number): void } }) => {
          isolate.openSocket(args, 1);
          return {};
        },
      },
      sync: {},
      waiting: {},
      mainThread: new MainThreadBudget(),
    },
    limits: { ...defaultLimits, webSocketsMax: 5 },
    clientHeaders: (block: string) => block,
    protocol: 'http',
    passThrough: () => false,
    sendErrorPage: () => false,
    explain: null,
    onLog() {},
    onRequest: null,
    recordsAll: false,
    ids: { prefix: 'x', last: 0 },
    proxyRequestId: null,
    counters: new DeploymentCounters('p', 'd000000000000'),
    usage: new EngineUsage().open('p', 'd000000000000'),
    telemetry: null,
    engineCounters: new EngineCounters({ deploymentsMax: 10 } as never),
  } as unknown as DeploymentDeps;
  const config = {
    id: 'd000000000000',
    project: 'p',
    organization: null,
    plan: 'free',
    vars: {},
    bindings: {},
    code: () => ({ text: toWorkerText(Buffer.alloc(0)), hash: '' }),
    sourceMap: () => null,
  } as const;
  const deployment = new Deployment(config, deps);
  const answers: number[] = [];
  const until = performance.now() + seconds * 1000;
  let rounds = 0;
  while (performance.now() < until) {
    rounds++;
    for (let more = random.below(3); more > 0; more--) {
      const at = answers.push(0) - 1;
      deployment.fetch(exchange(random.pick([0, 10, -1]), () => (answers[at] = (answers[at] as number) + 1)));
    }
    // The isolate is taken in a microtask.
    await Promise.resolve();
    await Promise.resolve();
    const events = said as IsolateEvents | null;
    if (events === null) continue;
    if (random.below(4) === 0) events.left(`${toHost.started}${FIELD}ready${FIELD}"x"${FIELD}${RECORD}`, '', 0, 0, []);
    const { meta, text, bytes } = random.below(3) === 0 ? plausible() : answer();
    try {
      events.left(meta, text, 0, 0, bytes);
    } catch (error) {
      assert.ok(error instanceof Error, `seed ${random.seed}: ${JSON.stringify(meta)} threw ${String(error)}`);
      said = null;
      events.died('fault', error);
    }
    if (rounds % 500 === 0) deployment.lanes.checkWall(performance.now() + (random.below(10) === 0 ? 1e9 : 0));
  }
  deployment.close();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(unhandled, [], `seed ${random.seed}`);
  assert.equal(deployment.load, 0, `seed ${random.seed}`);
  assert.deepEqual(
    answers.filter((count) => count !== 1),
    [],
    `seed ${random.seed}: requests that did not end once`,
  );
  // Of what is over nothing is counted any more.
  assert.ok(
    hostMemory.bytes >= unending * 1024 && hostMemory.bytes <= unending * 4096,
    `seed ${random.seed}: ${hostMemory.bytes} bytes of ${unending} calls`,
  );
  assert.ok(rounds > 100 && disposed > 5, `${rounds} rounds, ${disposed} isolates disposed`);
});

/** A request that counts its ends; it checks what it is given as a listener does. */
function exchange(bodyBytes: number, onEnd: () => void): Exchange {
  let state = 'open';
  const end = (): void => {
    if (state === 'over') return;
    state = 'over';
    onEnd();
  };
  const check = (status: number, headerBlock: string): void => {
    if (!(status >= 200 && status <= 599)) throw new RangeError('status');
    if (typeof headerBlock !== 'string') throw new TypeError('headers');
  };
  return {
    method: random.pick(['GET', 'POST', 'HEAD']),
    target: '/',
    host: 'p.localhost',
    headerBlock: '',
    remoteAddress: '127.0.0.1',
    bodyBytes,
    requestId: '',
    onAbort: null,
    onDrain: null,
    refusedCookies: '',
    sentBytes: 0,
    header: () => null,
    readBody(sink) {
      if (bodyBytes > 0) sink.chunk(new Uint8Array(bodyBytes));
      sink.end();
    },
    resumeBody() {},
    send(status, headerBlock) {
      if (state !== 'open') return;
      check(status, headerBlock);
      end();
    },
    begin(status, headerBlock) {
      if (state !== 'open') return;
      check(status, headerBlock);
      state = 'streaming';
    },
    write: () => random.below(2) === 0,
    end,
    upgrade(_headerBlock, events) {
      if (state !== 'open' || random.below(2) === 0) return null;
      end();
      return { send() {}, close: () => events.closed(1000, '', true), pause() {}, resume() {}, bufferedBytes: 0 };
    },
    destroy: end,
  };
}
