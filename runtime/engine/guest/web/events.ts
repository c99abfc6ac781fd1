// Event and EventTarget for a realm without a document tree: an event has one target and no propagation path. Event
// classes with own data are in ../lazy/event-classes.ts. Exceptions of listeners go to report-error.ts.
import { host } from '../host.ts';
import { DOMException } from './dom-exception.ts';
import { reportException } from './report-error.ts';
import { defineConstants, finishInterface, requireArguments, toDictionary, toDomString } from './webidl.ts';

const STOP_IMMEDIATE = 1;
const STOP = 2;
const CANCELED = 4;
const PASSIVE = 8;
const DISPATCHING = 16;
const BUBBLING = 32;
const CANCELABLE = 64;
const COMPOSED = 128;
const TRUSTED = 256;

let beginDispatch: (event: Event, target: EventTarget, isTrusted: boolean) => void;
let endDispatch: (event: Event) => boolean;
let setPassive: (event: Event, on: boolean) => void;
let stopped: (event: Event) => boolean;
let isDispatching: (event: Event) => boolean;
let isTrustedEvent: (event: Event) => boolean;

// All instances share one getter, so script can neither remove nor replace it on an event.
const trustDescriptor: PropertyDescriptor = {
  get: Object.getOwnPropertyDescriptor(
    {
      get isTrusted(): boolean {
        return isTrustedEvent(this as unknown as Event);
      },
    },
    'isTrusted',
  )!.get!,
  enumerable: true,
  configurable: false,
};

const { defineProperty } = Object;

// An event that owns `isTrusted`. A native copy of the pattern costs a fifth of defining the property on every event.
let pattern: Event | null = null;
// Such a pattern for the most frequent event class, whose fields are added to the copy.
let derivedClass: typeof Event | null = null;
let derivedPattern: Event | null = null;

/** From now on, events of a class that script can construct are copied as well. */
export function copyEventsOf(type: typeof Event): void {
  derivedPattern = Reflect.construct(Event, [''], type) as Event;
  derivedClass = type;
}

export class Event {
  declare readonly isTrusted: boolean;
  #type = '';
  #flags = 0;
  #target: EventTarget | null = null;
  // The initial value is not a number, because V8 would box a number, and all copies of an event would share the box.
  #createdMs: number | null = null;

  constructor(type: string, init: unknown = undefined) {
    requireArguments(arguments.length, 1, 'Event');
    const name = toDomString(type);
    let flags = 0;
    if (init !== undefined && init !== null) {
      const options = toDictionary(init, 'Event options');
      if (options['bubbles']) flags |= BUBBLING;
      if (options['cancelable']) flags |= CANCELABLE;
      if (options['composed']) flags |= COMPOSED;
    }
    const from = new.target === Event ? pattern : new.target === derivedClass ? derivedPattern : null;
    const copy = from === null ? undefined : host.clone(from);
    const event: Event = copy ?? this;
    if (copy === undefined) defineProperty(this, 'isTrusted', trustDescriptor);
    event.#type = name;
    event.#flags = flags;
    event.#createdMs = Date.now();
    return event;
  }

  get type(): string {
    return this.#type;
  }
  get target(): EventTarget | null {
    return this.#target;
  }
  get srcElement(): EventTarget | null {
    return this.#target;
  }
  get currentTarget(): EventTarget | null {
    return (this.#flags & DISPATCHING) === 0 ? null : this.#target;
  }
  composedPath(): EventTarget[] {
    return (this.#flags & DISPATCHING) === 0 ? [] : [this.#target!];
  }
  get eventPhase(): number {
    return (this.#flags & DISPATCHING) === 0 ? 0 : 2;
  }
  stopPropagation(): void {
    this.#flags |= STOP;
  }
  get cancelBubble(): boolean {
    return (this.#flags & STOP) !== 0;
  }
  set cancelBubble(value: unknown) {
    if (value) this.#flags |= STOP;
  }
  stopImmediatePropagation(): void {
    this.#flags |= STOP | STOP_IMMEDIATE;
  }
  get bubbles(): boolean {
    return (this.#flags & BUBBLING) !== 0;
  }
  get cancelable(): boolean {
    return (this.#flags & CANCELABLE) !== 0;
  }
  get returnValue(): boolean {
    return (this.#flags & CANCELED) === 0;
  }
  set returnValue(value: unknown) {
    if (!value) this.preventDefault();
  }
  preventDefault(): void {
    if ((this.#flags & (CANCELABLE | PASSIVE)) === CANCELABLE) this.#flags |= CANCELED;
  }
  get defaultPrevented(): boolean {
    return (this.#flags & CANCELED) !== 0;
  }
  get composed(): boolean {
    return (this.#flags & COMPOSED) !== 0;
  }
  /** Milliseconds since 1970: the guest has no finer clock that is cheap to read. */
  get timeStamp(): number {
    return this.#createdMs!;
  }
  initEvent(type: string, bubbles = false, isCancelable = false): void {
    requireArguments(arguments.length, 1, 'initEvent');
    const name = toDomString(type);
    if ((this.#flags & DISPATCHING) !== 0) return;
    this.#flags = (this.#flags & COMPOSED) | (bubbles ? BUBBLING : 0) | (isCancelable ? CANCELABLE : 0);
    this.#target = null;
    this.#type = name;
  }

  static {
    isTrustedEvent = (event) => (event.#flags & TRUSTED) !== 0;
    isDispatching = (event) => {
      if (typeof event !== 'object' || event === null || !(#type in event))
        throw new TypeError('dispatchEvent needs an Event');
      return (event.#flags & DISPATCHING) !== 0;
    };
    beginDispatch = (event, target, isTrusted) => {
      event.#flags = (event.#flags & ~TRUSTED) | DISPATCHING | (isTrusted ? TRUSTED : 0);
      event.#target = target;
    };
    endDispatch = (event) => {
      event.#flags &= ~(DISPATCHING | STOP | STOP_IMMEDIATE);
      return (event.#flags & CANCELED) === 0;
    };
    setPassive = (event, on) => {
      if (on) event.#flags |= PASSIVE;
      else event.#flags &= ~PASSIVE;
    };
    stopped = (event) => (event.#flags & STOP_IMMEDIATE) !== 0;
    pattern = new Event('');
  }
}
finishInterface(Event);
defineConstants(Event, { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 });

type EventListener = ((this: unknown, event: Event) => unknown) | { handleEvent(event: Event): unknown };

/** The functions for AbortSignals that listeners need; set by abort.ts to avoid an import cycle. */
interface RemovalSignal {
  readonly aborted: boolean;
}
export const removal: {
  check(signal: unknown): RemovalSignal;
  onAbort(signal: RemovalSignal, remove: () => void): void;
} = {
  check: () => {
    throw new TypeError('No AbortSignal here');
  },
  onAbort: () => {},
};

interface Listener {
  readonly type: string;
  readonly callback: EventListener | null;
  readonly capture: boolean;
  readonly once: boolean;
  readonly passive: boolean;
  removed: boolean;
}

let listenersOf: (target: EventTarget) => Listener[] | null;
let addListener: (target: EventTarget, listener: Listener) => void;
let handlersOf: (target: EventTarget) => Map<string, { callback: EventListener | null; listener: Listener }>;

/** Runs a function whenever a listener is added to a target. */
export let watchListeners: (target: EventTarget, added: () => void) => void;
/** Fires a trusted event that the platform made. */
export let dispatchTrusted: (target: EventTarget, event: Event) => boolean;
/** Whether the type has a listener; without one, no event is created. */
export let hasListeners: (target: EventTarget, type: string) => boolean;

export class EventTarget {
  #listeners: Listener[] | null = null;
  #added: (() => void) | null = null;
  #handlers: Map<string, { callback: EventListener | null; listener: Listener }> | null = null;

  addEventListener(type: string, callback: EventListener | null, options: unknown = undefined): void {
    requireArguments(arguments.length, 2, 'addEventListener');
    const name = toDomString(type);
    checkCallback(callback);
    const init = typeof options === 'object' || typeof options === 'function' ? options : null;
    const read = init as { capture?: unknown; once?: unknown; passive?: unknown; signal?: unknown } | null;
    const capture = read === null ? Boolean(options) : Boolean(read.capture);
    const once = read !== null && Boolean(read.once);
    const isPassive = read !== null && Boolean(read.passive);
    const signal = read === null || read.signal === undefined ? null : removal.check(read.signal);
    if (callback === null || callback === undefined || signal?.aborted === true) return;
    const present = this.#listeners?.some(
      (one) => one.callback === callback && one.type === name && one.capture === capture,
    );
    if (present === true) return;
    const listener: Listener = { type: name, callback, capture, once, passive: isPassive, removed: false };
    addListener(this, listener);
    if (signal !== null) removal.onAbort(signal, () => remove(this.#listeners, listener));
  }

  removeEventListener(type: string, callback: EventListener | null, options: unknown = undefined): void {
    requireArguments(arguments.length, 2, 'removeEventListener');
    const name = toDomString(type);
    checkCallback(callback);
    const init =
      typeof options === 'object' || typeof options === 'function' ? (options as { capture?: unknown } | null) : null;
    const capture = init === null ? Boolean(options) : Boolean(init.capture);
    const found = this.#listeners?.find(
      (one) => one.callback === callback && one.type === name && one.capture === capture,
    );
    if (found !== undefined) remove(this.#listeners, found);
  }

  dispatchEvent(event: Event): boolean {
    requireArguments(arguments.length, 1, 'dispatchEvent');
    if (isDispatching(event)) throw new DOMException('The event is already being dispatched', 'InvalidStateError');
    return dispatch(this, event, false);
  }

  static {
    listenersOf = (target) => target.#listeners;
    watchListeners = (target, added) => {
      target.#added = added;
    };
    addListener = (target, listener) => {
      target.#added?.();
      if (target.#listeners === null) target.#listeners = [listener];
      else target.#listeners.push(listener);
    };
    handlersOf = (target) => (target.#handlers ??= new Map());
    dispatchTrusted = (target, event) => dispatch(target, event, true);
    hasListeners = (target, type) => target.#listeners !== null && target.#listeners.some((one) => one.type === type);
  }
}
finishInterface(EventTarget);

function checkCallback(callback: unknown): void {
  if (callback !== null && callback !== undefined && typeof callback !== 'object' && typeof callback !== 'function') {
    throw new TypeError('An event listener must be a function, an object or null');
  }
}

function remove(listeners: Listener[] | null, listener: Listener): void {
  listener.removed = true;
  const index = listeners === null ? -1 : listeners.indexOf(listener);
  if (index >= 0) listeners!.splice(index, 1);
}

function dispatch(target: EventTarget, event: Event, isTrusted: boolean): boolean {
  const listeners = listenersOf(target);
  beginDispatch(event, target, isTrusted);
  if (listeners !== null && listeners.length > 0 && !event.cancelBubble) {
    const only = listeners[0]!;
    if (listeners.length > 1) dispatchToAll(target, event, listeners);
    else if (only.type === event.type) call(target, event, only);
  }
  return endDispatch(event);
}

function dispatchToAll(target: EventTarget, event: Event, listeners: readonly Listener[]): void {
  const { type } = event;
  const matching = listeners.filter((one) => one.type === type);
  // Capturing listeners run first, even at the target.
  if (matching.some((one) => one.capture)) matching.sort((a, b) => Number(b.capture) - Number(a.capture));
  for (let index = 0, wasCapture = true; index < matching.length; index++) {
    const listener = matching[index]!;
    if (stopped(event) || (wasCapture && !listener.capture && index > 0 && event.cancelBubble)) break;
    wasCapture = listener.capture;
    if (!listener.removed) call(target, event, listener);
  }
}

function call(target: EventTarget, event: Event, listener: Listener): void {
  const { callback } = listener;
  if (callback === null) return;
  if (listener.once) remove(listenersOf(target), listener);
  if (listener.passive) setPassive(event, true);
  try {
    if (typeof callback === 'function') callback.call(target, event);
    else {
      const { handleEvent } = callback;
      if (typeof handleEvent !== 'function') throw new TypeError('The event listener has no handleEvent method');
      handleEvent.call(callback, event);
    }
  } catch (error) {
    reportException(error);
  }
  if (listener.passive) setPassive(event, false);
}

/** Defines an `on<type>` attribute on a prototype. The handler keeps its position from when it was first set. */
export function defineEventHandler(prototype: object, type: string): void {
  const name = `on${type}`;
  const descriptor = Object.getOwnPropertyDescriptor(
    {
      get [name](): EventListener | null {
        return handlersOf(this as unknown as EventTarget).get(type)?.callback ?? null;
      },
      set [name](value: unknown) {
        const target = this as unknown as EventTarget;
        const handlers = handlersOf(target);
        const callback =
          (typeof value === 'object' || typeof value === 'function') && value !== null
            ? (value as EventListener)
            : null;
        const current = handlers.get(type);
        if (callback === null) {
          if (current === undefined) return;
          remove(listenersOf(target), current.listener);
          handlers.delete(type);
        } else if (current === undefined) {
          const run = function (this: unknown, event: Event): void {
            const now = handlers.get(type)?.callback;
            if (typeof now === 'function' && now.call(this, event) === false) event.preventDefault();
          };
          const listener: Listener = {
            type,
            callback: run,
            capture: false,
            once: false,
            passive: false,
            removed: false,
          };
          handlers.set(type, { callback, listener });
          addListener(target, listener);
        } else current.callback = callback;
      },
    },
    name,
  )!;
  Object.defineProperty(prototype, name, { ...descriptor, enumerable: true, configurable: true });
}
