// APIs that few workers use: each module of lazy/ (not of its folders) is bundled into a script of its own (isolates/snapshot-build.ts), which lies
// on the host until its globals are asked for the first time, and so costs neither the snapshot nor any other isolate a byte.
//
// A module of lazy/ exports one function, which gets what it needs of the guest as LazyParts and returns the values of its
// globals. It imports types only from the guest: a value would be a second copy of it, with classes of its own. To add one:
// its file, its name and globals in `lazyGlobals`.
import { createIncomingResponse, Response, takeResponse } from './web/response.ts';
import { host } from './host.ts';
import { startCall } from './calls.ts';
import { cancelPump, incomingBody, openPump } from './streams.ts';
import { btoa } from './web/base64.ts';
import { blobBytes, isBlob } from './web/blob.ts';
import { DOMException } from './web/dom-exception.ts';
import { defineEventHandler, dispatchTrusted, Event, EventTarget } from './web/events.ts';
import { isRequest, Request, takeRequest } from './web/request.ts';
import { ReadableStream } from './web/streams.ts';
import { fetch, newStreamId } from './web/fetch.ts';
import { TextDecoder, TextEncoder } from './web/text.ts';
import { setTimeout } from './web/timers.ts';
import * as webidl from './web/webidl.ts';

/** What modules of lazy/ may use of the guest. */
const lazyParts = {
  DOMException,
  Event,
  EventTarget,
  ReadableStream,
  Request,
  Response,
  TextDecoder,
  TextEncoder,
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
  cancelPump,
  fetch,
  incomingBody,
  newStreamId,
  openPump,
  setTimeout,
  startCall,
};
export type LazyParts = typeof lazyParts;

/** Globals of each module: name -> whether `for in` over the global object shows it. */
const lazyGlobals: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
  'file-reader': { FileReader: false, ProgressEvent: false },
  cache: { Cache: false, CacheStorage: false, caches: true },
  'html-rewriter': { HTMLRewriter: false },
  'url-pattern': { URLPattern: false },
};

// Taken before tenant code can replace it. Called under another name it runs its text in the global scope.
// oxlint-disable-next-line no-eval -- the texts are ours: they come from the file of the snapshot.
const evaluate = globalThis.eval;
const loaded: Record<string, Record<string, unknown>> = {};

function load(module: string): Record<string, unknown> {
  const create = evaluate(host.callSync('lazy.source', { module }) as string) as (parts: LazyParts) => Record<string, unknown>;
  return (loaded[module] ??= create(lazyParts));
}

/** Puts the globals of all modules on the global object; the first use of one replaces those of its module by their values. */
export function installLazyGlobals(target: object): void {
  for (const [module, names] of Object.entries(lazyGlobals)) {
    for (const [name, enumerable] of Object.entries(names)) {
      const define = (value: unknown): void => {
        Object.defineProperty(target, name, { value, enumerable, writable: true, configurable: true });
      };
      Object.defineProperty(target, name, {
        get() {
          const value = (loaded[module] ?? load(module))[name];
          define(value);
          return value;
        },
        set: define,
        enumerable,
        configurable: true,
      });
    }
  }
}
