// Events with data: CustomEvent, ErrorEvent, PromiseRejectionEvent, MessageEvent, CloseEvent. Plain getters.
import { provideModule } from '../modules.ts';
import { copyEventsOf, Event } from '../web/events.ts';
import { finishInterface, requireArguments, toDictionary, toDomString, toUsvString } from '../web/webidl.ts';

export class CustomEvent extends Event {
  #detail: unknown;
  constructor(type: string, init: unknown = undefined) {
    requireArguments(arguments.length, 1, 'CustomEvent');
    super(type, init);
    const { detail } = toDictionary(init, 'CustomEvent options');
    this.#detail = detail === undefined ? null : detail;
  }
  get detail(): unknown {
    return this.#detail;
  }
  initCustomEvent(type: string, bubbles = false, cancelable = false, detail: unknown = null): void {
    requireArguments(arguments.length, 1, 'initCustomEvent');
    if (this.eventPhase !== 0) return;
    this.initEvent(type, bubbles, cancelable);
    this.#detail = detail;
  }
}
finishInterface(CustomEvent);

export class ErrorEvent extends Event {
  #message: string;
  #filename: string;
  #lineno: number;
  #colno: number;
  #error: unknown;
  constructor(type: string, init: unknown = undefined) {
    requireArguments(arguments.length, 1, 'ErrorEvent');
    super(type, init);
    const { message = '', filename = '', lineno = 0, colno = 0, error } = toDictionary(init, 'ErrorEvent options');
    this.#message = toDomString(message);
    this.#filename = toUsvString(filename);
    this.#lineno = Number(lineno) >>> 0;
    this.#colno = Number(colno) >>> 0;
    this.#error = error;
  }
  get message(): string {
    return this.#message;
  }
  get filename(): string {
    return this.#filename;
  }
  get lineno(): number {
    return this.#lineno;
  }
  get colno(): number {
    return this.#colno;
  }
  get error(): unknown {
    return this.#error;
  }
}
finishInterface(ErrorEvent);

export class PromiseRejectionEvent extends Event {
  #promise: unknown;
  #reason: unknown;
  constructor(type: string, init: unknown) {
    requireArguments(arguments.length, 2, 'PromiseRejectionEvent');
    super(type, init);
    const { promise, reason } = toDictionary(init, 'PromiseRejectionEvent options');
    if (promise === undefined) throw new TypeError('PromiseRejectionEvent options need a promise');
    this.#promise = promise;
    this.#reason = reason;
  }
  get promise(): unknown {
    return this.#promise;
  }
  get reason(): unknown {
    return this.#reason;
  }
}
finishInterface(PromiseRejectionEvent);

const noPorts: readonly unknown[] = Object.freeze([]);

export class MessageEvent extends Event {
  #data: unknown;
  #origin: string;
  #lastEventId: string;
  #source: unknown;
  #ports: readonly unknown[];
  constructor(type: string, init: unknown = undefined) {
    requireArguments(arguments.length, 1, 'MessageEvent');
    super(type, init);
    const {
      data = null,
      origin = '',
      lastEventId = '',
      source = null,
      ports,
    } = toDictionary(init, 'MessageEvent options');
    this.#data = data;
    this.#origin = toUsvString(origin);
    this.#lastEventId = toDomString(lastEventId);
    this.#source = source;
    this.#ports = ports === undefined ? noPorts : Object.freeze([...(ports as Iterable<unknown>)]);
  }
  get data(): unknown {
    return this.#data;
  }
  get origin(): string {
    return this.#origin;
  }
  get lastEventId(): string {
    return this.#lastEventId;
  }
  get source(): unknown {
    return this.#source;
  }
  get ports(): readonly unknown[] {
    return this.#ports;
  }
}
finishInterface(MessageEvent);
copyEventsOf(MessageEvent);

export class CloseEvent extends Event {
  #wasClean: boolean;
  #code: number;
  #reason: string;
  constructor(type: string, init: unknown = undefined) {
    requireArguments(arguments.length, 1, 'CloseEvent');
    super(type, init);
    const { wasClean = false, code = 0, reason = '' } = toDictionary(init, 'CloseEvent options');
    this.#wasClean = Boolean(wasClean);
    this.#code = Number(code) & 0xffff;
    this.#reason = toUsvString(reason);
  }
  get wasClean(): boolean {
    return this.#wasClean;
  }
  get code(): number {
    return this.#code;
  }
  get reason(): string {
    return this.#reason;
  }
}
finishInterface(CloseEvent);

declare module '../modules.ts' {
  interface Modules {
    'event-classes': {
      readonly CloseEvent: typeof CloseEvent;
      readonly ErrorEvent: typeof ErrorEvent;
      readonly MessageEvent: typeof MessageEvent;
      readonly PromiseRejectionEvent: typeof PromiseRejectionEvent;
    };
  }
}

provideModule('event-classes', { CloseEvent, ErrorEvent, MessageEvent, PromiseRejectionEvent });
