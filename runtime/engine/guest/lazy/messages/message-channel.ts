// MessageChannel, MessagePort and BroadcastChannel within one isolate. Messages are cloned when sent, and each is
// delivered as a task.
import { useModule } from '../../modules.ts';
import { defineEventHandler, dispatchTrusted, EventTarget } from '../../web/events.ts';
import { DOMException } from '../../web/dom-exception.ts';
import { registerCloneSteps } from '../../web/clone-steps.ts';
import { cloneWithTransfer, structuredClone, transferList } from './structured-clone.ts';
import { finishInterface, internal, requireArguments, toDomString } from '../../web/webidl.ts';

interface TaskGlobals {
  setImmediate?(run: () => void): unknown;
  setTimeout(run: () => void, delayMs: number): unknown;
}

function queueTask(run: () => void): void {
  const globals = globalThis as unknown as TaskGlobals;
  if (globals.setImmediate === undefined) globals.setTimeout(run, 0);
  else globals.setImmediate(run);
}

interface Message {
  readonly data: unknown;
  readonly ports: readonly MessagePort[];
}

let entangle: (one: MessagePort, other: MessagePort) => void;
let isMessagePort: (value: unknown) => value is MessagePort;
let canMove: (port: MessagePort) => boolean;
let move: (port: MessagePort) => MessagePort;

export class MessagePort extends EventTarget {
  declare onmessageerror: unknown;
  declare onclose: unknown;
  #other: MessagePort | null = null;
  #queue: Message[] = [];
  #started = false;
  #detached = false;
  #scheduled = false;

  constructor(token: unknown = undefined) {
    if (token !== internal) throw new TypeError('Illegal constructor');
    super();
  }

  postMessage(message: unknown, options: unknown = undefined): void {
    requireArguments(arguments.length, 1, 'MessagePort.postMessage');
    const transfer =
      typeof options === 'object' && options !== null && Symbol.iterator in options
        ? [...(options as Iterable<unknown>)]
        : transferList(options);
    if (transfer.includes(this)) throw new DOMException('A port cannot be sent through itself', 'DataCloneError');
    const { value, transferred } = cloneWithTransfer(message, transfer);
    const other = this.#other;
    if (other === null) return;
    other.#queue.push({ data: value, ports: transferred.filter((one) => isMessagePort(one)) });
    other.#schedule();
  }

  start(): void {
    this.#started = true;
    this.#schedule();
  }

  close(): void {
    const other = this.#other;
    this.#other = null;
    this.#detached = true;
    if (other !== null) other.#other = null;
  }

  #schedule(): void {
    if (!this.#started || this.#scheduled || this.#queue.length === 0) return;
    this.#scheduled = true;
    queueTask(() => {
      this.#scheduled = false;
      const message = this.#queue.shift();
      if (message !== undefined && !this.#detached)
        dispatchTrusted(this, new (useModule('event-classes').MessageEvent)('message', message));
      this.#schedule();
    });
  }

  static {
    isMessagePort = (value): value is MessagePort => typeof value === 'object' && value !== null && #queue in value;
    entangle = (one, other) => {
      one.#other = other;
      other.#other = one;
    };
    canMove = (port) => {
      if (port.#detached)
        throw new DOMException('A closed or transferred port cannot be transferred', 'DataCloneError');
      return true;
    };
    move = (port) => {
      const moved = new MessagePort(internal);
      const other = port.#other;
      if (other !== null) entangle(moved, other);
      moved.#queue = port.#queue;
      port.#queue = [];
      port.#other = null;
      port.#detached = true;
      return moved;
    };
  }
}
finishInterface(MessagePort);
defineEventHandler(MessagePort.prototype, 'message');
defineEventHandler(MessagePort.prototype, 'messageerror');
defineEventHandler(MessagePort.prototype, 'close');
// Setting onmessage starts the port, which addEventListener does not.
const onmessage = Object.getOwnPropertyDescriptor(MessagePort.prototype, 'onmessage')!;
Object.defineProperty(MessagePort.prototype, 'onmessage', {
  ...onmessage,
  set(this: MessagePort, value: unknown) {
    onmessage.set!.call(this, value);
    this.start();
  },
});

registerCloneSteps({
  canTransfer: (value) => isMessagePort(value) && canMove(value),
  transfer: (value) => move(value as MessagePort),
  clone(value) {
    if (isMessagePort(value)) throw new DOMException('A port is not in the transfer list', 'DataCloneError');
    return undefined;
  },
});

export class MessageChannel {
  readonly #port1 = new MessagePort(internal);
  readonly #port2 = new MessagePort(internal);
  constructor() {
    entangle(this.#port1, this.#port2);
  }
  get port1(): MessagePort {
    return this.#port1;
  }
  get port2(): MessagePort {
    return this.#port2;
  }
}
finishInterface(MessageChannel);

const channels = new Map<string, Set<BroadcastChannel>>();

export class BroadcastChannel extends EventTarget {
  declare onmessage: unknown;
  declare onmessageerror: unknown;
  readonly #name: string;
  #closed = false;

  constructor(name: string) {
    requireArguments(arguments.length, 1, 'BroadcastChannel');
    super();
    this.#name = toDomString(name);
    const group = channels.get(this.#name);
    if (group === undefined) channels.set(this.#name, new Set([this]));
    else group.add(this);
  }

  get name(): string {
    return this.#name;
  }

  postMessage(message: unknown): void {
    requireArguments(arguments.length, 1, 'BroadcastChannel.postMessage');
    if (this.#closed) throw new DOMException('The channel is closed', 'InvalidStateError');
    for (const other of channels.get(this.#name) ?? []) {
      if (other === this) continue;
      const data = structuredClone(message);
      queueTask(() => {
        if (!other.#closed) dispatchTrusted(other, new (useModule('event-classes').MessageEvent)('message', { data }));
      });
    }
  }

  close(): void {
    this.#closed = true;
    const group = channels.get(this.#name);
    group?.delete(this);
    if (group?.size === 0) channels.delete(this.#name);
  }
}
finishInterface(BroadcastChannel);
defineEventHandler(BroadcastChannel.prototype, 'message');
defineEventHandler(BroadcastChannel.prototype, 'messageerror');
