import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  AbortController as GuestController,
  AbortSignal as GuestSignal,
  abortSignal,
  onAbort,
} from '#runtime/engine/guest/web/abort.ts';
import { DOMException as GuestException } from '#runtime/engine/guest/web/dom-exception.ts';
import { CustomEvent as GuestCustomEvent } from '#runtime/engine/guest/lazy/event-classes.ts';
import { Event as GuestEvent, EventTarget as GuestTarget } from '#runtime/engine/guest/web/events.ts';
import { uncaught } from '#runtime/engine/guest/web/report-error.ts';

const reported: unknown[] = [];
uncaught.report = (error) => void reported.push(error);
afterEach(() => void reported.splice(0));

test('calls listeners in order, capturing ones first, each once', () => {
  const target = new GuestTarget();
  const calls: string[] = [];
  const same = () => void calls.push('same');
  target.addEventListener('x', same);
  target.addEventListener('x', same);
  target.addEventListener('x', { handleEvent: (event) => void calls.push(`object ${event.type} ${event.eventPhase}`) });
  target.addEventListener('x', () => void calls.push('once'), { once: true });
  target.addEventListener('x', () => void calls.push('capture'), true);
  target.dispatchEvent(new GuestEvent('x'));
  target.removeEventListener('x', same);
  target.dispatchEvent(new GuestEvent('x'));
  assert.deepEqual(calls, ['capture', 'same', 'object x 2', 'once', 'capture', 'object x 2']);
});

test('reports what a listener throws and goes on', () => {
  const target = new GuestTarget();
  let reached = false;
  target.addEventListener('x', () => {
    throw new Error('from a listener');
  });
  target.addEventListener('x', () => {
    reached = true;
  });
  target.dispatchEvent(new GuestEvent('x'));
  assert.equal(reached, true);
  assert.equal((reported[0] as Error).message, 'from a listener');
});

test('honours stopImmediatePropagation, preventDefault and passive listeners', () => {
  const target = new GuestTarget();
  target.addEventListener('x', (event) => event.preventDefault(), { passive: true });
  assert.equal(target.dispatchEvent(new GuestEvent('x', { cancelable: true })), true);
  target.addEventListener('x', (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
  });
  target.addEventListener('x', () => assert.fail('must not run'));
  assert.equal(target.dispatchEvent(new GuestEvent('x', { cancelable: true })), false);
  assert.equal(target.dispatchEvent(new GuestEvent('x')), true);
});

test('removes a listener when its signal aborts', () => {
  const target = new GuestTarget();
  const controller = new GuestController();
  let calls = 0;
  target.addEventListener('x', () => void calls++, { signal: controller.signal });
  target.dispatchEvent(new GuestEvent('x'));
  controller.abort();
  target.dispatchEvent(new GuestEvent('x'));
  assert.equal(calls, 1);
});

test('refuses wrong events and a second dispatch of a running one', () => {
  const target = new GuestTarget();
  assert.throws(() => target.dispatchEvent({} as never), { name: 'TypeError' });
  assert.throws(() => new (GuestEvent as unknown as new () => unknown)(), { name: 'TypeError' });
  assert.throws(() => target.addEventListener('x', 1 as never), { name: 'TypeError' });
  let error: unknown;
  target.addEventListener('x', (event) => {
    try {
      target.dispatchEvent(event);
    } catch (caught) {
      error = caught;
    }
  });
  target.dispatchEvent(new GuestEvent('x'));
  assert.equal((error as GuestException).name, 'InvalidStateError');
});

test('says that events made by script are not trusted, in a way that script cannot change', () => {
  const event = new GuestCustomEvent('x', { detail: 5 });
  assert.equal(event.detail, 5);
  assert.equal(event.isTrusted, false);
  assert.throws(() => Object.defineProperty(event, 'isTrusted', { value: true }), TypeError);
});

test('aborts once, with a reason, telling listeners and handlers', () => {
  const controller = new GuestController();
  const { signal } = controller;
  const seen: string[] = [];
  onAbort(signal, () => void seen.push('algorithm'));
  (signal as { onabort: unknown }).onabort = (event: GuestEvent) => void seen.push(`handler ${event.isTrusted}`);
  signal.addEventListener('abort', () => void seen.push('listener'));
  controller.abort('why');
  controller.abort('again');
  assert.deepEqual(seen, ['algorithm', 'handler true', 'listener']);
  assert.equal(signal.reason, 'why');
  assert.throws(
    () => signal.throwIfAborted(),
    (thrown) => thrown === 'why',
  );
});

test('gives an AbortError where no reason is given', () => {
  const { reason } = GuestSignal.abort();
  assert.ok(reason instanceof GuestException);
  assert.ok(reason instanceof Error);
  assert.equal(reason.name, 'AbortError');
  assert.equal(reason.code, 20);
  assert.match(reason.stack, /^AbortError: /);
});

test('aborts a dependent signal with the first of its sources, all before the first event', () => {
  const first = new GuestController();
  const second = new GuestController();
  const any = GuestSignal.any([first.signal, second.signal]);
  const nested = GuestSignal.any([any]);
  const states: boolean[] = [];
  first.signal.addEventListener('abort', () => states.push(any.aborted, nested.aborted));
  first.abort('first');
  second.abort('second');
  assert.deepEqual(states, [true, true]);
  assert.equal(nested.reason, 'first');
  assert.equal(GuestSignal.any([GuestSignal.abort('done')]).reason, 'done');
  assert.equal(GuestSignal.any([]).aborted, false);
});

test('times out with a TimeoutError', async () => {
  const signal = GuestSignal.timeout(1);
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  assert.equal((signal.reason as GuestException).name, 'TimeoutError');
  assert.throws(() => GuestSignal.timeout(-1), { name: 'TypeError' });
});

test('keeps constructors and internals out of reach', () => {
  assert.throws(() => new (GuestSignal as unknown as new () => unknown)(), { name: 'TypeError' });
  assert.throws(() => Object.getOwnPropertyDescriptor(GuestSignal.prototype, 'aborted')!.get!.call({}), {
    name: 'TypeError',
  });
  const signal = GuestSignal.abort(1);
  abortSignal(signal, 2);
  assert.equal(signal.reason, 1);
});

test('lets an error of any name be made, with the constants of the legacy codes', () => {
  const error = new GuestException('text', { name: 'DataCloneError', cause: 'because' } as never);
  assert.deepEqual([error.name, error.message, error.code, error.cause], ['DataCloneError', 'text', 25, 'because']);
  assert.equal((GuestException as unknown as Record<string, number>)['DATA_CLONE_ERR'], 25);
  assert.equal((GuestException as unknown as Record<string, number>)['URL_MISMATCH_ERR'], 21);
  assert.equal(Object.prototype.toString.call(error), '[object DOMException]');
  assert.throws(
    () => Object.getOwnPropertyDescriptor(GuestException.prototype, 'code')!.get!.call(new Error('plain')),
    {
      name: 'TypeError',
    },
  );
});

test('keeps a dependent signal alive while somebody listens to it, and no longer', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const controller = new GuestController();
  let heard = 0;
  const idle: WeakRef<object>[] = [];
  for (let index = 0; index < 10; index++) {
    GuestSignal.any([controller.signal]).addEventListener('abort', () => void heard++);
    idle.push(new WeakRef(GuestSignal.any([controller.signal])));
  }
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  assert.ok(idle.some((one) => one.deref() === undefined));
  controller.abort();
  assert.equal(heard, 10);
});
