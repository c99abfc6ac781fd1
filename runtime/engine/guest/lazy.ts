// Rarely used APIs. Each module of lazy/ (not of its folders) is bundled into a separate script
// (isolates/snapshot-build.ts), which stays on the host until its globals are first used. So it takes no memory in the
// snapshot or in other isolates.
//
// A module of lazy/ exports its globals by name. Imports of other guest files are not copied into it: the script
// receives them as LazyDeps, which must list them (a test compares). Older modules, and modules of bindings/ and
// events/, export one function instead, which also receives LazyDeps. To add a module, add its file, and add its name
// and globals to `lazyGlobals`.
//
// bindings/ and events/ contain similar modules: one per kind of binding, with `create(name)`, which is loaded when
// `env.<NAME>` is first read, and one per kind of event, with `handle`, which is loaded when the first event arrives.
import type * as polyfill from 'web-streams-polyfill';
import { createIncomingResponse, Response, takeResponse } from './web/response.ts';
import { host } from './host.ts';
import type { EventHandler } from './dispatch.ts';
import { waitUntil } from './answers.ts';
import { callHost, dropCall, invalidArgument, openCall, startCall, toOptions } from './calls.ts';
import { AsyncLocalStorage, checkpoint, currentContext, runInContext } from './context.ts';
import { currentInvocation, touch } from './invocation.ts';
import { noHandler } from './missing-handler.ts';
import { exportOf, lookAtGates, sendAtEntryEnd } from './object-records.ts';
import { fromJson, SafeMap, toJson } from './safe.ts';
import * as sockets from './sockets.ts';
import { freeAfterEntry } from './records.ts';
import { bodyToGuest } from './bodies-to-guest.ts';
import { cancelPump, inPieces, openPump, WHOLE_BYTES_MAX } from './pumps.ts';
import { AbortController } from './web/abort.ts';
import { atob, btoa } from './web/base64.ts';
import { loader, loadedModule, provideModule, useModule } from './modules.ts';
import { Blob, blobBytes, createBlob, File, isBlob, isFile } from './web/blob.ts';
import { platformSteps, registerCloneSteps } from './web/clone-steps.ts';
import { DOMException, QuotaExceededError } from './web/dom-exception.ts';
import { copyEventsOf, defineEventHandler, dispatchTrusted, Event, EventTarget } from './web/events.ts';
import { Headers } from './web/headers.ts';
import { isRequest, Request, takeRequest } from './web/request.ts';
import { createByteStream, isReadableStream, provideStreams, streamFromHostBody, streamModule } from './web/streams.ts';
import { createFetcher, fetch, fetchThrough, newStreamId } from './web/fetch.ts';
import {
  decodeWhole,
  isAnyArrayBuffer,
  isUnsharedBufferSource,
  TextDecoder,
  TextEncoder,
  toBytes,
} from './web/text.ts';
import { parseUrlencoded } from './web/url-search-params.ts';
import { reportUncaught } from './web/console.ts';
import { clearTimeout, setImmediate, setTimeout } from './web/timers.ts';
import { URL } from './web/url.ts';
import { decodeUtf8, encodeUtf8, fromUnits } from './web/utf8.ts';
import * as webidl from './web/webidl.ts';

/** Parts of the guest that modules of lazy/ may use. */
export const lazyDeps = {
  get ReadableStream() {
    return streamsModule().ReadableStream;
  },
  get WritableStream() {
    return streamsModule().WritableStream;
  },
  get CloseEvent() {
    return useModule('event-classes').CloseEvent;
  },
  get ErrorEvent() {
    return useModule('event-classes').ErrorEvent;
  },
  get MessageEvent() {
    return useModule('event-classes').MessageEvent;
  },
  AbortController,
  AsyncLocalStorage,
  Blob,
  DOMException,
  Event,
  EventTarget,
  File,
  Headers,
  QuotaExceededError,
  Request,
  Response,
  TextDecoder,
  TextEncoder,
  URL,
  WHOLE_BYTES_MAX,
  atob,
  blobBytes,
  btoa,
  createIncomingResponse,
  NetworkEnd: sockets.NetworkEnd,
  defineEventHandler,
  disconnectEnd: sockets.disconnectEnd,
  dispatchTrusted,
  isBlob,
  isReadableStream,
  isRequest,
  takeRequest,
  takeResponse,
  webidl,
  callHost,
  cancelPump,
  checkpoint,
  connectEnd: sockets.connectEnd,
  createByteStream,
  clearTimeout,
  copyEventsOf,
  createBlob,
  createFetcher,
  currentContext,
  currentInvocation,
  decodeUtf8,
  decodeWhole,
  dropCall,
  encodeUtf8,
  HeldEnd: sockets.HeldEnd,
  lookAtGates,
  sendAttachment: sockets.sendAttachment,
  sendBegun: sockets.sendBegun,
  sendSocketState: sockets.sendSocketState,
  socketClasses: sockets.socketClasses,
  exportOf,
  fetch,
  fetchThrough,
  fromJson,
  fromUnits,
  host,
  inPieces,
  invalidArgument,
  bodyToGuest,
  /** The module of a kind of binding, if `env` has already loaded one. */
  givenBinding: (kind: string): BindingModule | undefined =>
    loaded[`bindings/${kind}`] as unknown as BindingModule | undefined,
  isAnyArrayBuffer,
  isFile,
  isUnsharedBufferSource,
  loadedModule,
  loader,
  newStreamId,
  noHandler,
  openCall,
  openPump,
  parseUrlencoded,
  platformSteps,
  provideModule,
  provideStreams,
  registerCloneSteps,
  reportUncaught,
  reserveSocketId: sockets.reserveSocketId,
  runInContext,
  SafeMap,
  sendAtEntryEnd,
  setImmediate,
  setTimeout,
  sockets,
  freeAfterEntry,
  startCall,
  streamFromHostBody,
  toBytes,
  toJson,
  toOptions,
  touch,
  useModule,
  waitUntil,
};
export type LazyDeps = typeof lazyDeps;

/** The globals of each module. The value says whether `for in` over the global object lists the name. */
const lazyGlobals: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
  crypto: { Crypto: false, CryptoKey: false, SubtleCrypto: false, crypto: true },
  'event-classes': {
    CloseEvent: false,
    CustomEvent: false,
    ErrorEvent: false,
    MessageEvent: false,
    PromiseRejectionEvent: false,
  },
  'form-data': { FormData: false },
  messages: { BroadcastChannel: false, MessageChannel: false, MessagePort: false, structuredClone: true },
  performance: {
    Performance: false,
    PerformanceEntry: false,
    PerformanceMark: false,
    PerformanceMeasure: false,
    PerformanceObserver: false,
    PerformanceObserverEntryList: false,
    performance: true,
  },
  'file-reader': { FileReader: false, ProgressEvent: false },
  cache: { Cache: false, CacheStorage: false, caches: true },
  'html-rewriter': { HTMLRewriter: false },
  'url-pattern': { URLPattern: false },
  'web-socket': { WebSocket: false, WebSocketPair: false, WebSocketRequestResponsePair: false },
  'event-source': { EventSource: false },
  streams: {
    ByteLengthQueuingStrategy: false,
    CompressionStream: false,
    CountQueuingStrategy: false,
    DecompressionStream: false,
    FixedLengthStream: false,
    IdentityTransformStream: false,
    ReadableByteStreamController: false,
    ReadableStream: false,
    ReadableStreamBYOBReader: false,
    ReadableStreamBYOBRequest: false,
    ReadableStreamDefaultController: false,
    ReadableStreamDefaultReader: false,
    TextDecoderStream: false,
    TextEncoderStream: false,
    TransformStream: false,
    TransformStreamDefaultController: false,
    WritableStream: false,
    WritableStreamDefaultController: false,
    WritableStreamDefaultWriter: false,
  },
};

const loaded: Record<string, Record<string, unknown>> = {};

function evaluateOfHost(module: string): unknown {
  const code = host.callSync('lazy.source', { module }) as string;
  const cache = host.callSync('lazy.cache', { module }) as string;
  return host.evaluate(code, `platform:${module}`, cache);
}

function load(module: string): Record<string, unknown> {
  const create = (host.evaluateShared(module) ?? evaluateOfHost(module)) as (deps: LazyDeps) => Record<string, unknown>;
  const made = (loaded[module] ??= create(lazyDeps));
  if (module === 'crypto')
    host.defineLazy(
      made['crypto'] as object,
      'DigestStream',
      false,
      (name) => (loaded['digest-stream'] ?? load('digest-stream'))[name],
    );
  for (const [name, value] of Object.entries(made)) {
    // The name is set, because a bundler renames functions whose names are also those of globals.
    if (typeof value === 'function' && value.name !== name)
      Object.defineProperty(value, 'name', { value: name, configurable: true });
  }
  return made;
}

function streamsModule(): typeof polyfill {
  return (loaded['streams'] ?? load('streams')) as unknown as typeof polyfill;
}

loader.load = (name) => loaded[name] ?? load(name);
streamModule.load = () => void streamsModule();
sockets.socketClasses.load = () => (loaded['web-socket'] ?? load('web-socket')) as { create(): object };

/** Exports of a module of bindings/. */
export interface BindingModule {
  /** @param name the name in `env`, which host calls contain and the host maps to the resource. */
  create(name: string): object;
  /**
   * Only for queues: the name and messages as arguments of a call; null for an object that `create` did not create.
   *
   * @param given a payload; with `isBatch`, a list as for `sendBatch`.
   */
  address?(
    binding: unknown,
    given: unknown,
    options: unknown,
    isBatch: boolean,
  ): { readonly queue: string; readonly messages: readonly object[]; readonly bodies: readonly string[] } | null;
}

/** A module of bindings/. */
export function loadBinding(name: string): BindingModule {
  return (loaded[`bindings/${name}`] ?? load(`bindings/${name}`)) as unknown as BindingModule;
}

/** The handler of a kind of event. */
export function loadEventHandler(kind: string): EventHandler {
  return (loaded[`events/${kind}`] ?? load(`events/${kind}`))['handle'] as EventHandler;
}

// There is one function per module, because this table is part of the snapshot.
const lazyProperties = Object.entries(lazyGlobals).map(([module, names]) => ({
  names: Object.entries(names),
  load: (name: string): unknown => (loaded[module] ?? load(module))[name],
}));

/**
 * Defines the globals of all modules on the global object when the host is connected. The first use of a global loads
 * its module.
 */
export function installLazyGlobals(target: object): void {
  for (const { names, load: valueOf } of lazyProperties) {
    for (const [name, enumerable] of names) host.defineLazy(target, name, enumerable, valueOf);
  }
}
