// Defines the web APIs on a global object. Called once by main.ts while the snapshot is created; ../lazy.ts defines
// rarely used APIs and streams.
import { AbortController, AbortSignal } from './abort.ts';
import { Blob, File } from './blob.ts';
import { DOMException, QuotaExceededError } from './dom-exception.ts';
import { Event, EventTarget } from './events.ts';
import { Headers } from './headers.ts';
import { atob, btoa } from './base64.ts';
import { Navigator, navigator } from './navigator.ts';
import { queueMicrotask } from './queue-microtask.ts';
import { reportError } from './report-error.ts';
import { Request } from './request.ts';
import { Response } from './response.ts';
import { TextDecoder, TextEncoder } from './text.ts';
import { URL } from './url.ts';
import { URLSearchParams } from './url-search-params.ts';

const interfaces = {
  AbortController,
  AbortSignal,
  Blob,
  DOMException,
  Event,
  EventTarget,
  File,
  Headers,
  Navigator,
  QuotaExceededError,
  Request,
  Response,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
};

/** Methods and attributes of the global object, which are enumerable, like the members of WindowOrWorkerGlobalScope. */
const members = { atob, btoa, queueMicrotask, reportError };
const attributes = { navigator };

function define(target: object, name: string, value: unknown, enumerable: boolean): void {
  // The name is set, because a bundler renames functions whose names are also those of globals in another module.
  if (typeof value === 'function' && value.name !== name)
    Object.defineProperty(value, 'name', { value: name, configurable: true });
  Object.defineProperty(target, name, { value, enumerable, writable: true, configurable: true });
}

/** Defines all web globals on `target`, normally globalThis. */
export function installGlobals(target: object): void {
  for (const [name, value] of Object.entries(interfaces)) define(target, name, value, false);
  for (const [name, value] of Object.entries(members)) define(target, name, value, true);
  for (const [name, value] of Object.entries(attributes)) define(target, name, value, true);
  define(target, 'self', target, true);
}
