// Request. The request that dispatch creates for an invocation contains only strings: its URL is not parsed, its
// headers are one block, and its signal and body are created on first use.
import { AbortController, dependentSignal, isAbortSignal, type AbortSignal } from './abort.ts';
import type { Blob } from './blob.ts';
import { blobOfUrl } from './blob-url.ts';
import { copyHeaders, Headers, headersFromBlock, headersToBlock, isHeaders, addMissing } from './headers.ts';
import {
  Body,
  cloneBody,
  extractBody,
  installBodyMembers,
  moveBody,
  takeBody,
  type BodyContent,
  type BodyMembers,
} from './body.ts';
import { hasSource, isReadableStream } from './streams.ts';
import { parseUrl } from './url.ts';
import {
  finishInterface,
  internal,
  requireArguments,
  toByteString,
  toDictionary,
  toDomString,
  toEnumeration,
} from './webidl.ts';

const methodToken = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const safelistedMethods = new Set(['GET', 'HEAD', 'POST']);
const normalisedMethods = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT']);

/** Members that have no effect on this platform, and are only stored and returned. */
interface RequestModes {
  cache: string;
  credentials: string;
  integrity: string;
  keepalive: boolean;
  mode: string;
  redirect: 'follow' | 'error' | 'manual';
  referrer: string;
  referrerPolicy: string;
}

const defaultModes: RequestModes = {
  cache: 'default',
  credentials: 'same-origin',
  integrity: '',
  keepalive: false,
  mode: 'cors',
  redirect: 'follow',
  referrer: 'about:client',
  referrerPolicy: '',
};

/** Parts of a request that fetch sends. */
interface TakenRequest {
  readonly method: string;
  readonly url: string;
  readonly headerBlock: string;
  readonly body: BodyContent;
  readonly redirect: 'follow' | 'error' | 'manual';
  readonly signal: AbortSignal | null;
  /** The blob that a blob URL had when the request was created. */
  readonly blob: Blob | null;
}

/**
 * Creates the request of an invocation. The URL is absolute and serialized, and the names in the block are lower-case;
 * both are trusted.
 */
export let createIncomingRequest: (
  method: string,
  url: string,
  headerBlock: string,
  body: BodyContent,
  signal: () => AbortSignal,
) => Request;
/**
 * Takes a request apart to send it; its body is used afterwards. @throws {TypeError} when the body was already used.
 */
export let takeRequest: (request: Request) => TakenRequest;
export let isRequest: (value: unknown) => value is Request;

let bodyOf: (request: Request) => Body | null;
let contentTypeOf: (request: Request) => string | null;

// The mixin's members are put on the prototype below.
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging
export interface Request extends BodyMembers {}

// oxlint-disable-next-line typescript/no-unsafe-declaration-merging
export class Request {
  #method = 'GET';
  #url = '';
  #block: string | null = '';
  #headers: Headers | null = null;
  #immutable = false;
  #body: Body | null = null;
  // The signal that this request follows, or a function that creates it, or null; and the request's own signal, which
  // is created from it on demand.
  #followed: AbortSignal | (() => AbortSignal) | null = null;
  #signal: AbortSignal | null = null;
  #modes: RequestModes = defaultModes;
  #blob: Blob | null = null;
  // Properties of the request that HTTP does not have, from the platform or the worker; created on demand for an
  // incoming request.
  #cf: unknown = undefined;
  #isIncoming = false;

  constructor(input: unknown, init: unknown = undefined) {
    if (input === internal) return;
    requireArguments(arguments.length, 1, 'Request');
    const options = toDictionary(init, 'Request options');
    const source = isRequest(input) ? input : null;
    if (source === null) {
      const { href, hasCredentials } = parseUrl(input);
      if (hasCredentials) throw new TypeError('A request URL must not hold a user name or password');
      this.#url = href;
      if (href.startsWith('blob:')) this.#blob = blobOfUrl(href) ?? null;
    } else {
      this.#url = source.#url;
      this.#blob = source.#blob;
      this.#method = source.#method;
      this.#modes = source.#modes;
      this.#cf = source.#cf;
      this.#isIncoming = source.#isIncoming;
      this.#followed = source.#signal ?? source.#followed;
    }
    this.#readModes(options);
    if (options['cf'] !== undefined) this.#cf = options['cf'];
    const { method, headers, body, signal } = options;
    if (method !== undefined) this.#method = normalMethod(method);
    if (this.#modes.mode === 'no-cors' && !safelistedMethods.has(this.#method))
      throw new TypeError(`A request in mode "no-cors" can be GET, HEAD or POST, not ${this.#method}`);
    if (signal !== undefined) {
      if (signal !== null && !isAbortSignal(signal)) throw new TypeError('The signal option must be an AbortSignal');
      this.#followed = signal as AbortSignal | null;
    }
    if (headers !== undefined) {
      this.#headers = isHeaders(headers) ? copyHeaders(headers, 'none') : new Headers(headers);
      this.#block = null;
    } else if (source !== null) {
      this.#block = source.#block;
      if (source.#headers !== null) this.#headers = copyHeaders(source.#headers, 'none');
    }
    this.#readBody(body, source, options['duplex'] !== undefined);
  }

  #readBody(body: unknown, source: Request | null, isDuplex: boolean): void {
    const given = body !== undefined && body !== null;
    const bodiless = this.#method === 'GET' || this.#method === 'HEAD';
    if (bodiless && (given || (source !== null && source.#body !== null)))
      throw new TypeError(`A ${this.#method} request cannot have a body`);
    if (given) {
      const { content, type, shared } = extractBody(body);
      // If a worker forwards a platform body (`body: request.body`), its content is taken from the beginning.
      if (isReadableStream(content) && !hasSource(content)) {
        if (this.#modes.keepalive) throw new TypeError('A request with keepalive cannot have a stream as its body');
        if (!isDuplex) throw new TypeError('A request whose body is a stream needs the option duplex: "half"');
        this.#refuseStreamMode();
      }
      this.#body = new Body(content, shared);
      if (type !== null) addMissing(this.headers, 'content-type', type);
    } else if (source !== null && body === undefined) {
      if (source.#body !== null && isReadableStream(source.#body.content) && !hasSource(source.#body.content))
        this.#refuseStreamMode();
      this.#body = moveBody(source.#body);
    }
  }

  #refuseStreamMode(): void {
    const { mode } = this.#modes;
    if (mode !== 'same-origin' && mode !== 'cors')
      throw new TypeError(`A request in mode "${mode}" cannot have a stream as its body`);
  }

  #readModes(options: Record<string, unknown>): void {
    const { cache, credentials, integrity, keepalive, mode, redirect, referrer, referrerPolicy } = options;
    if (options['window'] !== undefined && options['window'] !== null)
      throw new TypeError('The window option can only be null');
    const changes: Partial<RequestModes> = {};
    if (referrer !== undefined) {
      const text = toDomString(referrer);
      changes.referrer =
        text === '' ? '' : parseUrl(text).href === 'about:client' ? 'about:client' : parseUrl(text).href;
    }
    if (referrerPolicy !== undefined)
      changes.referrerPolicy = toEnumeration(referrerPolicy, referrerPolicies, 'The referrerPolicy option');
    if (mode !== undefined) {
      if (mode === 'navigate') throw new TypeError('A request cannot be made in mode "navigate"');
      changes.mode = toEnumeration(mode, ['same-origin', 'no-cors', 'cors', 'websocket'], 'The mode option');
    }
    if (credentials !== undefined)
      changes.credentials = toEnumeration(credentials, ['omit', 'same-origin', 'include'], 'The credentials option');
    if (cache !== undefined) changes.cache = toEnumeration(cache, cacheModes, 'The cache option');
    if (
      (changes.cache ?? this.#modes.cache) === 'only-if-cached' &&
      (changes.mode ?? this.#modes.mode) !== 'same-origin'
    ) {
      throw new TypeError('The cache mode "only-if-cached" needs the mode "same-origin"');
    }
    if (redirect !== undefined)
      changes.redirect = toEnumeration(redirect, ['follow', 'error', 'manual'] as const, 'The redirect option');
    if (integrity !== undefined) changes.integrity = toDomString(integrity);
    if (keepalive !== undefined) changes.keepalive = Boolean(keepalive);
    const { duplex } = options;
    if (duplex !== undefined) toEnumeration(duplex, ['half'], 'The duplex option');
    if (Object.keys(changes).length > 0) this.#modes = { ...this.#modes, ...changes };
  }

  get method(): string {
    return this.#method;
  }
  get url(): string {
    return this.#url;
  }
  get headers(): Headers {
    if (this.#headers === null) {
      this.#headers = headersFromBlock(this.#block!, this.#immutable ? 'immutable' : 'none');
      this.#block = null;
    }
    return this.#headers;
  }
  get destination(): string {
    void this.#url;
    return '';
  }
  get referrer(): string {
    return this.#modes.referrer;
  }
  get referrerPolicy(): string {
    return this.#modes.referrerPolicy;
  }
  get mode(): string {
    return this.#modes.mode;
  }
  get credentials(): string {
    return this.#modes.credentials;
  }
  get cache(): string {
    return this.#modes.cache;
  }
  get redirect(): string {
    return this.#modes.redirect;
  }
  get integrity(): string {
    return this.#modes.integrity;
  }
  get keepalive(): boolean {
    return this.#modes.keepalive;
  }
  get isReloadNavigation(): boolean {
    void this.#url;
    return false;
  }
  get isHistoryNavigation(): boolean {
    void this.#url;
    return false;
  }
  /**
   * Contains `httpProtocol` of the connection to this handler, and the client's `accept-encoding`. Properties that
   * could only be guessed (country, TLS version behind a proxy, round-trip time) are absent.
   */
  get cf(): unknown {
    if (this.#cf === undefined && this.#isIncoming) {
      const encoding = this.headers.get('accept-encoding');
      this.#cf =
        encoding === null ? { httpProtocol: 'HTTP/1.1' } : { httpProtocol: 'HTTP/1.1', clientAcceptEncoding: encoding };
    }
    return this.#cf;
  }
  get duplex(): 'half' {
    void this.#url;
    return 'half';
  }
  get signal(): AbortSignal {
    if (this.#signal === null) {
      const followed = this.#followed;
      if (followed === null) this.#signal = new AbortController().signal;
      else this.#signal = typeof followed === 'function' ? followed() : dependentSignal([followed]);
    }
    return this.#signal;
  }

  clone(): Request {
    const copy = new Request(internal);
    copy.#body = cloneBody(this.#body);
    copy.#method = this.#method;
    copy.#url = this.#url;
    copy.#immutable = this.#immutable;
    copy.#block = this.#block;
    if (this.#headers !== null) copy.#headers = copyHeaders(this.#headers, this.#immutable ? 'immutable' : 'none');
    copy.#followed = this.#signal ?? this.#followed;
    copy.#modes = this.#modes;
    copy.#blob = this.#blob;
    copy.#cf = this.#cf;
    copy.#isIncoming = this.#isIncoming;
    return copy;
  }

  static {
    isRequest = (value): value is Request => typeof value === 'object' && value !== null && #method in value;
    bodyOf = (request) => request.#body;
    contentTypeOf = (request) => request.headers.get('content-type');
    createIncomingRequest = (method, url, headerBlock, body, signal) => {
      const request = new Request(internal);
      request.#method = method;
      request.#url = url;
      request.#block = headerBlock;
      request.#immutable = true;
      request.#isIncoming = true;
      if (body !== null) request.#body = new Body(body);
      request.#followed = signal;
      return request;
    };
    takeRequest = (request) => {
      const followed = request.#signal ?? request.#followed;
      return {
        method: request.#method,
        url: request.#url,
        headerBlock: request.#block ?? headersToBlock(request.#headers!),
        body: takeBody(request.#body),
        redirect: request.#modes.redirect,
        signal: typeof followed === 'function' ? request.signal : followed,
        blob: request.#blob,
      };
    };
  }
}

const cacheModes = ['default', 'no-store', 'reload', 'no-cache', 'force-cache', 'only-if-cached'] as const;
const referrerPolicies = [
  '',
  'no-referrer',
  'no-referrer-when-downgrade',
  'same-origin',
  'origin',
  'strict-origin',
  'origin-when-cross-origin',
  'strict-origin-when-cross-origin',
  'unsafe-url',
] as const;

function normalMethod(value: unknown): string {
  const method = toByteString(value);
  if (normalisedMethods.has(method)) return method;
  if (!methodToken.test(method)) throw new TypeError(`"${method}" is not a valid HTTP method`);
  const upper = method.toUpperCase();
  if (upper === 'CONNECT' || upper === 'TRACE' || upper === 'TRACK')
    throw new TypeError(`The method ${upper} is forbidden`);
  return normalisedMethods.has(upper) ? upper : method;
}

installBodyMembers(
  Request.prototype,
  (owner) => bodyOf(owner as Request),
  (owner) => contentTypeOf(owner as Request),
);
finishInterface(Request);
