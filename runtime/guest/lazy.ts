// APIs that few workers use: each module of lazy/ (not of its folders) is bundled into a script of its own (isolates/snapshot-build.ts), which lies
// on the host until its globals are asked for the first time, and so costs neither the snapshot nor any other isolate a byte.
//
// A module of lazy/ exports one function, which gets what it needs of the guest as LazyParts and returns the values of its
// globals. It imports types only from the guest: a value would be a second copy of it, with classes of its own. To add one:
// its file, its name and globals in `lazyGlobals`.
//
// bindings/ and events/ hold modules of the same making: one a kind of binding, with `create(name)`, loaded when `env.<NAME>` is
// read for the first time; one a kind of event, with `handle`, loaded when the first comes.
import type * as polyfill from 'web-streams-polyfill';
import { createIncomingResponse, Response, takeResponse } from './web/response.ts';
import { host } from './host.ts';
import type { EventHandler } from './dispatch.ts';
import { callHost, dropCall, startCall } from './calls.ts';
import { checkpoint, currentContext, runInContext } from './context.ts';
import { currentInvocation } from './invocation.ts';
import { noHandler } from './missing-handler.ts';
import { fromJson, toJson } from './safe.ts';
import * as sockets from './sockets.ts';
import { outbox } from './outbox.ts';
import { cancelPump, incomingBody, inPieces, openPump, WHOLE_BYTES_MAX } from './streams.ts';
import { AbortController } from './web/abort.ts';
import { atob, btoa } from './web/base64.ts';
import { blobBytes, createBlob, isBlob } from './web/blob.ts';
import { DOMException } from './web/dom-exception.ts';
import { CloseEvent, ErrorEvent, MessageEvent } from './web/event-classes.ts';
import { defineEventHandler, dispatchTrusted, Event, EventTarget } from './web/events.ts';
import { Headers } from './web/headers.ts';
import { isRequest, Request, takeRequest } from './web/request.ts';
import { provideStreams, streamModule } from './web/streams.ts';
import { fetch, newStreamId } from './web/fetch.ts';
import { isAnyArrayBuffer, isUnsharedBufferSource, TextDecoder, TextEncoder, toBytes } from './web/text.ts';
import { reportUncaught } from './web/console.ts';
import { clearTimeout, setImmediate, setTimeout } from './web/timers.ts';
import { URL } from './web/url.ts';
import { encodeUtf8 } from './web/utf8.ts';
import * as webidl from './web/webidl.ts';

/** What modules of lazy/ may use of the guest. */
const lazyParts = {
  get ReadableStream() {
    return streamsModule().ReadableStream;
  },
  get WritableStream() {
    return streamsModule().WritableStream;
  },
  AbortController,
  CloseEvent,
  DOMException,
  ErrorEvent,
  Event,
  EventTarget,
  Headers,
  MessageEvent,
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
  defineEventHandler,
  dispatchTrusted,
  isBlob,
  isRequest,
  takeRequest,
  takeResponse,
  webidl,
  callHost,
  cancelPump,
  checkpoint,
  clearTimeout,
  createBlob,
  currentContext,
  currentInvocation,
  dropCall,
  encodeUtf8,
  fetch,
  fromJson,
  host,
  inPieces,
  incomingBody,
  /** The module of a kind of binding, where `env` gave one out already. */
  givenBinding: (kind: string): BindingModule | undefined => loaded[`bindings/${kind}`] as unknown as BindingModule | undefined,
  isAnyArrayBuffer,
  isUnsharedBufferSource,
  newStreamId,
  noHandler,
  openPump,
  provideStreams,
  reportUncaught,
  runInContext,
  setImmediate,
  setTimeout,
  sockets,
  /** Of a part that was sent in this entry: nobody reads it any more. */
  spend: (part: Uint8Array): void => outbox.spend(part),
  startCall,
  toBytes,
  toJson,
};
export type LazyParts = typeof lazyParts;

/** Globals of each module: name -> whether `for in` over the global object shows it. */
const lazyGlobals: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
  'file-reader': { FileReader: false, ProgressEvent: false },
  cache: { Cache: false, CacheStorage: false, caches: true },
  'html-rewriter': { HTMLRewriter: false },
  'url-pattern': { URLPattern: false },
  'web-socket': { WebSocket: false, WebSocketPair: false },
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

function load(module: string): Record<string, unknown> {
  const code = host.callSync('lazy.source', { module }) as string;
  const cache = host.callSync('lazy.cache', { module }) as string;
  const create = host.evaluate(code, `platform:${module}`, cache) as (parts: LazyParts) => Record<string, unknown>;
  return (loaded[module] ??= create(lazyParts));
}

function streamsModule(): typeof polyfill {
  return (loaded['streams'] ?? load('streams')) as unknown as typeof polyfill;
}

streamModule.load = () => void streamsModule();
sockets.socketClasses.load = () => (loaded['web-socket'] ?? load('web-socket')) as { create(): object };

/** What a module of bindings/ returns. */
export interface BindingModule {
  /** @param name as `env` has it: host calls name it, and the host knows its resource. */
  create(name: string): object;
  /**
   * Of queues: name and messages as a call takes them; null for anything that `create` did not make.
   *
   * @param given a payload, or with `isBatch` a list as `sendBatch` takes it.
   */
  address?(
    binding: unknown,
    given: unknown,
    options: unknown,
    isBatch: boolean,
  ): { readonly queue: string; readonly messages: readonly object[] } | null;
}

/** The module of a kind of binding. */
export function loadBinding(kind: string): BindingModule {
  return (loaded[`bindings/${kind}`] ?? load(`bindings/${kind}`)) as unknown as BindingModule;
}

/** The handler of a kind of event. */
export function loadEventHandler(kind: string): EventHandler {
  return (loaded[`events/${kind}`] ?? load(`events/${kind}`))['handle'] as EventHandler;
}

// One function a module; the table itself is part of the snapshot.
const lazyProperties = Object.entries(lazyGlobals).map(([module, names]) => ({
  names: Object.entries(names),
  load: (name: string): unknown => (loaded[module] ?? load(module))[name],
}));

/** Puts the globals of all modules on the global object, once the host is connected; the first use of one loads its module. */
export function installLazyGlobals(target: object): void {
  for (const { names, load: valueOf } of lazyProperties) {
    for (const [name, enumerable] of names) host.defineLazy(target, name, enumerable, valueOf);
  }
  host.defineLazy(
    (target as { crypto: object }).crypto,
    'DigestStream',
    false,
    () => (loaded['digest-stream'] ?? load('digest-stream'))['DigestStream'],
  );
}
