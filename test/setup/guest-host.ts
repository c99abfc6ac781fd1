// Connects the guest's web APIs to their host halves inside one Node process, for unit tests of either. Arguments and
// answers cross as JSON and copied bytes, as they do over the bridge.
import { createHash, randomFillSync } from 'node:crypto';
import { createCompressionCalls } from '#runtime/engine/bindings/compression.ts';
import { createCryptoCalls } from '#runtime/engine/bindings/crypto.ts';
import { textCalls } from '#runtime/engine/bindings/text.ts';
import { urlCalls } from '#runtime/engine/bindings/url.ts';
import { defaultLimits } from '#core/limits.ts';
import { HandleTable } from '#runtime/engine/bridge/handle-table.ts';
import { EngineMemory } from '#runtime/engine/bridge/host-memory.ts';
import { freeOwner } from '#runtime/engine/bridge/free-owner.ts';
import { HostWork } from '#runtime/engine/work/host-work.ts';
import { textOperations } from '#runtime/engine/work/text-operations.ts';
import { toFailure, type CallScope, type HostCall } from '#runtime/engine/bridge/host-calls.ts';
import { host } from '#runtime/engine/guest/host.ts';
import * as cryptoModule from '#runtime/engine/guest/lazy/crypto.ts';
import * as formDataModule from '#runtime/engine/guest/lazy/form-data.ts';
import * as inspectModule from '#runtime/engine/guest/lazy/inspect.ts';
import * as messagesModule from '#runtime/engine/guest/lazy/messages.ts';
import * as performanceModule from '#runtime/engine/guest/lazy/performance.ts';
import createStreams from '#runtime/engine/guest/lazy/streams.ts';
import { installLazyGlobals } from '#runtime/engine/guest/lazy.ts';

const work = new HostWork();
const asyncCalls = { ...createCryptoCalls(work), ...createCompressionCalls(work) };
const syncCalls = { ...textCalls, ...urlCalls };
/** Modules of guest/lazy as they are, without a script in between. */
const lazyModules: Record<string, unknown> = {
  streams: createStreams,
  crypto: () => cryptoModule,
  inspect: () => inspectModule,
  messages: () => messagesModule,
  performance: () => performanceModule,
  'form-data': () => formDataModule,
};

/** Connects `host`; returns the handle table that the calls use. */
export function connectGuestHost(handlesMax = 1000): HandleTable {
  const memory = new EngineMemory(defaultLimits).open('test');
  const handles = new HandleTable(handlesMax, memory);
  const isolate = { handles, memory } as unknown as CallScope;
  const crossing = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));
  host.callSync = (name, args, part) => {
    if (name === 'lazy.source' || name === 'lazy.cache') return (args as { module: string }).module;
    const handler = syncCalls[name];
    if (handler === undefined) throw new Error(`No synchronous call ${name}`);
    return handler(crossing(args), part, isolate);
  };
  // What a thread would do while this one waits.
  let lastDecoder = 0;
  host.callWaiting = (name, args, parts) => {
    const { handle, last, ...given } = args as { handle: number; last: boolean };
    const id = handle === 0 && !last ? ++lastDecoder : handle;
    const { parts: made = [] } = textOperations['text.decode']!(
      { ...given, id, isNew: handle === 0, isLast: last },
      parts,
    );
    return { value: { handle: last ? 0 : id }, parts: made.map((part) => new Uint8Array(part)) };
  };
  host.defineLazy = (target, name, enumerable, load) => {
    const define = (value: unknown): unknown =>
      Object.defineProperty(target, name, { value, enumerable, writable: true, configurable: true });
    const get = (): unknown => {
      const value = load(name);
      define(value);
      return value;
    };
    Object.defineProperty(target, name, { get, set: define, enumerable, configurable: true });
  };
  host.evaluate = (module) => lazyModules[module];
  host.call = async (name, args, parts = []) => {
    const handler = asyncCalls[name];
    if (handler === undefined) throw new Error(`No call ${name}`);
    try {
      const copies = parts.map((part) => (typeof part === 'string' ? part : part.slice()));
      const call = {
        args: crossing(args),
        parts: copies,
        isolate,
        owner: freeOwner,
        signal: new AbortController().signal,
      } as unknown as HostCall;
      const reply = await handler(call);
      return {
        value: crossing(reply.value),
        parts: (reply.parts ?? []).map((part) => (typeof part === 'string' ? part : new Uint8Array(part))),
      };
    } catch (error) {
      const { name: kind, code, message } = toFailure(error);
      const failure = kind === 'TypeError' ? new TypeError(message) : new Error(message);
      throw Object.assign(failure, { code });
    }
  };
  host.randomFill = (bytes) => void randomFillSync(bytes);
  host.now = () => performance.now();
  host.utf8Encode = (text) => new TextEncoder().encode(text);
  host.utf8EncodeInto = (text, target) => new TextEncoder().encodeInto(text, target).written;
  host.digest = (bytes, bits) =>
    new Uint8Array(
      createHash(`sha${bits === 160 ? 1 : bits}`)
        .update(bytes)
        .digest(),
    ).buffer;
  host.utf8Decode = (bytes) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  host.atob = (text) => orUndefined(() => atob(text));
  host.btoa = (text) => orUndefined(() => btoa(text));
  return handles;
}

/** The globals that are built on first use, the same classes each time. */
export function lazyGlobals(): typeof globalThis & Record<string, unknown> {
  const realm = { crypto: {} };
  installLazyGlobals(realm);
  return realm as unknown as typeof globalThis & Record<string, unknown>;
}

function orUndefined(run: () => string): string | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
