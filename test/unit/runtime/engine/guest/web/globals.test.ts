import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installLazyGlobals } from '#runtime/engine/guest/lazy.ts';
import { installGlobals } from '#runtime/engine/guest/web/globals.ts';
import { connectGuestHost } from '#test/setup/guest-host.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';

connectGuestHost();

type Globals = typeof globalThis & Record<string, unknown>;
const realm = {} as Globals;
installGlobals(realm);
installLazyGlobals(realm);

test('defines interfaces out of sight and functions in sight, all replaceable', () => {
  assert.deepEqual(Object.keys(realm).sort(), [
    'atob',
    'btoa',
    'caches',
    'crypto',
    'navigator',
    'performance',
    'queueMicrotask',
    'reportError',
    'self',
    'structuredClone',
  ]);
  for (const name of ['Request', 'URL', 'ReadableStream', 'DOMException']) {
    assert.ok(name in realm && realm[name] !== undefined);
    const { writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(realm, name)!;
    assert.deepEqual({ writable, enumerable, configurable }, { writable: true, enumerable: false, configurable: true });
    assert.equal((realm[name] as { name: string }).name, name);
  }
});

test('gives every interface its class string and enumerable members', () => {
  for (const name of Object.getOwnPropertyNames(realm)) {
    // The other lazy modules are not at hand here.
    if (Object.getOwnPropertyDescriptor(realm, name)!.get !== undefined && !/Stream|QueuingStrategy/.test(name))
      continue;
    const value = realm[name] as { prototype?: object };
    if (!/^[A-Z]/.test(name) || /^(FixedLength|IdentityTransform)Stream$/.test(name) || value.prototype === undefined)
      continue;
    assert.equal((value.prototype as Record<symbol, unknown>)[Symbol.toStringTag], name);
    for (const [key, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(value.prototype))) {
      // Streams have a `toJSON` that the standard does not know: it is not to be seen.
      assert.equal(
        descriptor.enumerable === true,
        key !== 'constructor' && !(key === 'toJSON' && /Stream|Strategy/.test(name)),
        `${name}.${key}`,
      );
    }
  }
});

test('encodes and decodes base64 as Node does', () => {
  const random = createSeededRandom();
  const attempt = (run: () => string) => {
    try {
      return run();
    } catch (error) {
      return (error as Error).name;
    }
  };
  for (let round = 0; round < fuzzRounds(500); round++) {
    const text = random.text(['a', 'B', '1', '+', '/', '=', '==', ' ', '\n', 'YQ', '\u00ff', '\u0100', '-', '\f'], 8);
    const note = JSON.stringify({ seed: random.seed, text });
    assert.equal(
      attempt(() => realm.atob(text)),
      attempt(() => atob(text)),
      note,
    );
    assert.equal(
      attempt(() => realm.btoa(text)),
      attempt(() => btoa(text)),
      note,
    );
  }
});

test('runs microtasks before other tasks and in order', async () => {
  const order: number[] = [];
  await new Promise<void>((resolve) => {
    setImmediate(() => {
      order.push(3);
      resolve();
    });
    realm.queueMicrotask(() => void order.push(1));
    realm.queueMicrotask(() => void order.push(2));
  });
  assert.deepEqual(order, [1, 2, 3]);
  assert.throws(() => realm.queueMicrotask(5 as never), { name: 'TypeError' });
});

test('measures between marks and tells observers', async () => {
  const { performance, PerformanceObserver } = realm;
  const seen = new Promise<string[]>((resolve) => {
    new PerformanceObserver((list) =>
      resolve(list.getEntries().map((entry) => `${entry.entryType} ${entry.name}`)),
    ).observe({
      entryTypes: ['mark', 'measure'],
    });
  });
  performance.mark('start', { startTime: 5, detail: { a: 1 } });
  const measure = performance.measure('span', { start: 'start', end: 12 });
  assert.deepEqual([measure.startTime, measure.duration], [5, 7]);
  assert.deepEqual((await seen).sort(), ['mark start', 'measure span']);
  assert.throws(() => performance.measure('x', 'no such mark'), { name: 'SyntaxError' });
  performance.clearMarks();
  assert.deepEqual(performance.getEntriesByType('mark'), []);
  assert.ok(performance.now() >= 0);
});

test('carries text through the encoder and decoder streams, halves of characters included', async () => {
  const { TextEncoderStream, TextDecoderStream, ReadableStream } = realm;
  const chunks = ['a\ud83d', '\udca9b', '\ud800'];
  const source = new ReadableStream<string>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  let text = '';
  for await (const chunk of source.pipeThrough(new TextEncoderStream()).pipeThrough(new TextDecoderStream()))
    text += chunk;
  assert.equal(text, 'a\u{1f4a9}b\ufffd');
});

test('throws QuotaExceededError as a DOMException that may say how much', () => {
  const { QuotaExceededError, DOMException, crypto } = realm as unknown as Record<string, any>;
  assert.throws(
    () => crypto.getRandomValues(new Uint8Array(65537)),
    (error: any) =>
      error instanceof QuotaExceededError && error instanceof DOMException && error.code === 22 && error.quota === null,
  );
  const error = new QuotaExceededError('too much', { quota: 1, requested: 2 });
  assert.deepEqual([error.name, error.message, error.quota, error.requested], ['QuotaExceededError', 'too much', 1, 2]);
  assert.throws(() => new QuotaExceededError('', { quota: 2, requested: 1 }), RangeError);
  assert.throws(() => new QuotaExceededError('', { quota: Number.NaN }), TypeError);
});
