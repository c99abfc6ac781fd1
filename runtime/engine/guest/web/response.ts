// Response. The hot path, from `new Response(text, { headers })` to takeResponse, creates no Headers object, no Body
// object and no stream, and encodes nothing: one header block is built while the plain object is read.
import { blockFromInit, copyHeaders, headersFromBlock, headersToBlock, type Headers } from './headers.ts';
import {
  Body,
  cloneBody,
  extractBody,
  installBodyMembers,
  takeBody,
  textType,
  type BodyContent,
  type BodyMembers,
} from './body.ts';
import { parseUrl } from './url.ts';
import { socketClasses } from '../sockets.ts';
import { finishInterface, internal, requireArguments, toByteString } from './webidl.ts';

const reasonPhrase = /^[\t\x20-\x7e\x80-\xff]*$/;

type ResponseType = 'default' | 'error' | 'basic';

/** Parts of a response that dispatch sends; header names are lower-case, including the implied content type. */
interface TakenResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headerBlock: string;
  readonly body: BodyContent;
  /** The WebSocket that the response opens, or null. */
  readonly webSocket: unknown;
}

/**
 * Takes a response apart to send it; its body is used afterwards.
 *
 * @returns null when the value is not a Response. @throws {TypeError} when the body was used or is locked, or a header
 * cannot be sent.
 */
export let takeResponse: (value: unknown) => TakenResponse | null;

export let isResponse: (value: unknown) => value is Response;
/** Creates the response of a fetch, with immutable headers. The block and the URL are trusted. */
export let createIncomingResponse: (
  status: number,
  statusText: string,
  headerBlock: string,
  body: BodyContent,
  url: string,
  redirected: boolean,
  webSocket?: unknown,
) => Response;

let bodyOf: (response: Response) => Body | null;
let contentTypeOf: (response: Response) => string | null;

// The mixin's members are put on the prototype below.
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging
export interface Response extends BodyMembers {}

// oxlint-disable-next-line typescript/no-unsafe-declaration-merging
export class Response {
  #type: ResponseType = 'default';
  #status = 200;
  #statusText = '';
  #url = '';
  #redirected = false;
  // The header block until `headers` is read, then null.
  #block: string | null = '';
  #headers: Headers | null = null;
  #immutable = false;
  // Content that was not accessed; the first access moves it into a Body.
  #content: BodyContent = null;
  #body: Body | null = null;
  // The content is sent without creating a Body.
  #taken = false;
  #webSocket: unknown = null;

  constructor(body: unknown = undefined, init: unknown = undefined) {
    if (body === internal) return;
    let content: BodyContent = null;
    let type: string | null = null;
    let shared = false;
    if (typeof body === 'string') {
      content = body.isWellFormed() ? body : body.toWellFormed();
      type = textType;
    } else if (body !== undefined && body !== null) ({ content, type, shared = false } = extractBody(body));
    if (init === undefined || init === null) {
      if (type !== null) this.#block = type === textType ? textBlock : `content-type\0${type}\0`;
    } else this.#initialise(init, content, type);
    if (shared) this.#body = new Body(content!, true);
    else this.#content = content;
  }

  #initialise(init: unknown, content: BodyContent, type: string | null): void {
    if (typeof init !== 'object' && typeof init !== 'function')
      throw new TypeError('Response options must be an object');
    const { headers, status, statusText, webSocket } = init as {
      headers?: unknown;
      status?: unknown;
      statusText?: unknown;
      webSocket?: unknown;
    };
    if (status !== undefined) {
      const code = typeof status === 'number' ? Math.trunc(status) : Math.trunc(Number(status));
      // The status 101 is allowed, because it is the response to a WebSocket upgrade.
      if (!(code >= 200 && code <= 599) && code !== 101)
        throw new RangeError(`A response's status must be 101 or between 200 and 599, not ${String(status)}`);
      this.#status = code;
    }
    if (statusText !== undefined && statusText !== '') {
      const text = toByteString(statusText);
      if (!reasonPhrase.test(text)) throw new TypeError('The status text contains a control character');
      this.#statusText = text;
    }
    if (webSocket !== undefined && webSocket !== null) {
      if (socketClasses.internalsOf(webSocket) === null)
        throw new TypeError('The webSocket of a response must be a WebSocket');
      if (this.#status !== 101) throw new RangeError('A response with a WebSocket must have the status 101');
      this.#webSocket = webSocket;
    }
    if (content !== null && isNullBodyStatus(this.#status))
      throw new TypeError(`A response with status ${this.#status} cannot have a body`);
    if (headers === undefined) {
      if (type !== null) this.#block = `content-type\0${type}\0`;
    } else this.#block = blockFromInit(headers, type);
  }

  static error(): Response {
    const response = new Response(internal);
    response.#type = 'error';
    response.#status = 0;
    response.#immutable = true;
    return response;
  }

  static redirect(url: string, status: number = 302): Response {
    requireArguments(arguments.length, 1, 'Response.redirect');
    const { href } = parseUrl(url);
    if (![301, 302, 303, 307, 308].includes(Number(status)))
      throw new RangeError(`${String(status)} is not a redirect status`);
    const response = new Response(internal);
    response.#status = Number(status);
    response.#block = `location\0${href}\0`;
    response.#immutable = true;
    return response;
  }

  static json(data: unknown, init: unknown = undefined): Response {
    requireArguments(arguments.length, 1, 'Response.json');
    const text = JSON.stringify(data) as string | undefined;
    if (text === undefined) throw new TypeError('The value cannot be converted to JSON');
    const response = new Response(internal);
    response.#content = text.isWellFormed() ? text : text.toWellFormed();
    if (init === undefined || init === null) response.#block = 'content-type\0application/json\0';
    else response.#initialise(init, response.#content, 'application/json');
    return response;
  }

  get type(): ResponseType {
    return this.#type;
  }
  get url(): string {
    const hash = this.#url.indexOf('#');
    return hash < 0 ? this.#url : this.#url.slice(0, hash);
  }
  get redirected(): boolean {
    return this.#redirected;
  }
  get status(): number {
    return this.#status;
  }
  get ok(): boolean {
    return this.#status >= 200 && this.#status <= 299;
  }
  get statusText(): string {
    return this.#statusText;
  }
  /** The WebSocket that the response opens, or that a `fetch` has opened, or null. */
  get webSocket(): unknown {
    return this.#webSocket;
  }
  get headers(): Headers {
    if (this.#headers === null) {
      this.#headers = headersFromBlock(this.#block!, this.#immutable ? 'immutable' : 'none');
      this.#block = null;
    }
    return this.#headers;
  }

  clone(): Response {
    if (this.#webSocket !== null) throw new TypeError('A response with a WebSocket cannot be cloned');
    const copy = new Response(internal);
    copy.#body = cloneBody(bodyOf(this));
    copy.#type = this.#type;
    copy.#status = this.#status;
    copy.#statusText = this.#statusText;
    copy.#url = this.#url;
    copy.#redirected = this.#redirected;
    copy.#immutable = this.#immutable;
    copy.#block = this.#block;
    if (this.#headers !== null) copy.#headers = copyHeaders(this.#headers, this.#immutable ? 'immutable' : 'none');
    return copy;
  }

  static {
    bodyOf = (response) => {
      if (response.#content !== null) {
        response.#body = new Body(response.#content);
        response.#body.used = response.#taken;
        response.#content = null;
      }
      return response.#body;
    };
    contentTypeOf = (response) => response.headers.get('content-type');
    isResponse = (value): value is Response => typeof value === 'object' && value !== null && #content in value;
    takeResponse = (value) => {
      if (!isResponse(value)) return null;
      let body: BodyContent;
      if (typeof value.#content === 'string' && !value.#taken) {
        body = value.#content;
        value.#taken = true;
      } else body = takeBody(bodyOf(value));
      return {
        status: value.#status,
        statusText: value.#statusText,
        headerBlock: value.#block ?? headersToBlock(value.#headers!),
        body,
        webSocket: value.#webSocket,
      };
    };
    createIncomingResponse = (status, statusText, headerBlock, body, url, redirected, webSocket = null) => {
      const response = new Response(internal);
      response.#type = 'basic';
      response.#status = status;
      response.#statusText = statusText;
      response.#block = headerBlock;
      response.#content = body;
      response.#url = url;
      response.#redirected = redirected;
      response.#immutable = true;
      response.#webSocket = webSocket;
      return response;
    };
  }
}

const textBlock = `content-type\0${textType}\0`;

function isNullBodyStatus(status: number): boolean {
  return status === 204 || status === 205 || status === 304 || status === 101;
}

installBodyMembers(
  Response.prototype,
  (owner) => bodyOf(owner as Response),
  (owner) => contentTypeOf(owner as Response),
);
finishInterface(Response);
