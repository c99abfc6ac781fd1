// The Body mixin of Request and Response. The content keeps its original type (a string, bytes, a body on the host),
// and is forwarded without conversion. A ReadableStream exists only after `.body` is read. Independent of requests and
// responses.
import type { HostBody } from '../host.ts';
import { freeBuffer } from '../free-buffers.ts';
import { Blob, blobBytes, isBlob } from './blob.ts';
import { loadedModule, useModule, type Modules } from '../modules.ts';
import {
  createSpentStream,
  isDisturbed,
  isLocked,
  isReadableStream,
  readAllBytes,
  readHostBody,
  streamFromContent,
  streamFromHostBody,
  takeSource,
  type ReadableStream,
} from './streams.ts';
import { decodeBody, isAnyArrayBuffer, toBytes } from './text.ts';
import { isUrlSearchParams } from './url-search-params.ts';
import { encodeUtf8 } from './utf8.ts';
import { toUsvString } from './webidl.ts';

type FormData = ReturnType<Modules['form-data']['parseFormBody']>;

/** Content of a body. A string is text that is not encoded yet, and a HostBody is read from the host. */
export type BodyContent = null | string | Uint8Array | HostBody | ReadableStream<unknown>;

export const textType = 'text/plain;charset=UTF-8';

/** Whether the content is on the host and unread. */
function isHostBody(content: BodyContent): content is HostBody {
  return (
    typeof content === 'object' && content !== null && !(content instanceof Uint8Array) && !isReadableStream(content)
  );
}

/** A body and its state; each Request or Response has one when its content is accessed. */
export class Body {
  content: Exclude<BodyContent, null>;
  stream: ReadableStream<unknown> | null;
  used = false;
  /** Whether the bytes also belong to a clone or a blob, so that they must be copied before they are handed out. */
  shared: boolean;

  constructor(content: Exclude<BodyContent, null>, shared = false) {
    this.content = content;
    this.shared = shared;
    this.stream = isReadableStream(content) ? content : null;
  }
}

/** The content of a body argument. */
interface ExtractedBody {
  readonly content: Exclude<BodyContent, null>;
  /** The implied content type. */
  readonly type: string | null;
  /** Whether the bytes belong to a blob. */
  readonly shared?: boolean;
}

export function extractBody(init: unknown): ExtractedBody {
  if (typeof init === 'object' && init !== null) {
    if (isReadableStream(init)) {
      if (isLocked(init) || isDisturbed(init))
        throw new TypeError('A body cannot be made from a stream that is locked or was read');
      return { content: init, type: null };
    }
    if (ArrayBuffer.isView(init) || isAnyArrayBuffer(init))
      return { content: toBytes(init, 'A body').slice(), type: null };
    if (isUrlSearchParams(init))
      return { content: init.toString(), type: 'application/x-www-form-urlencoded;charset=UTF-8' };
    if (isBlob(init)) return { content: blobBytes(init), type: init.type === '' ? null : init.type, shared: true };
    const forms = loadedModule('form-data');
    if (forms?.isFormData(init) === true) return forms.toMultipart(init);
  }
  return { content: toUsvString(init), type: textType };
}

function isBodyUsed(body: Body | null): boolean {
  return body !== null && (body.used || (body.stream !== null && isDisturbed(body.stream)));
}

function assertUsable(body: Body): void {
  if (isBodyUsed(body)) throw new TypeError('The body was already used');
  if (body.stream !== null && isLocked(body.stream)) throw new TypeError('The body is locked to a reader');
}

/** The stream of `.body`, created on first use. */
function bodyStream(body: Body | null): ReadableStream<unknown> | null {
  if (body === null) return null;
  if (body.stream !== null) return body.stream;
  const { content } = body;
  if (body.used) body.stream = createSpentStream();
  else if (typeof content === 'string') body.stream = streamFromContent(() => content);
  else if (content instanceof Uint8Array)
    body.stream = streamFromContent(() => (body.shared ? content.slice() : content));
  else if (isHostBody(content)) body.stream = streamFromHostBody(content);
  else body.stream = content;
  return body.stream;
}

/**
 * Takes the content from a body, which counts as used afterwards. Returns the original content if its stream was
 * created but not read.
 *
 * @throws {TypeError} when the body was used or is locked.
 */
export function takeBody(body: Body | null): BodyContent {
  if (body === null) return null;
  assertUsable(body);
  body.used = true;
  if (body.stream === null) return body.content;
  // If the body is the unread stream of another body, takes the content of that body.
  if (body.stream === body.content) return takeSource(body.stream) ?? body.content;
  body.stream.getReader();
  return body.content;
}

/** Creates a second body with the same content. @throws {TypeError} when the body was used or is locked. */
export function cloneBody(body: Body | null): Body | null {
  if (body === null) return null;
  assertUsable(body);
  if (typeof body.content === 'string' || body.content instanceof Uint8Array) {
    body.shared = true;
    return new Body(body.content, true);
  }
  const [mine, other] = bodyStream(body)!.tee();
  body.content = mine;
  body.stream = mine;
  return new Body(other);
}

/** Moves the content of one body to a new body and marks the old one as used: `new Request(request)`. */
export function moveBody(body: Body | null): Body | null {
  if (body === null) return null;
  const content = takeBody(body);
  const moved = new Body(content as Exclude<BodyContent, null>, body.shared);
  if (isReadableStream(content)) {
    // The stream of the old object stays visible, locked and disturbed.
    body.stream = createSpentStream();
    body.content = body.stream;
  }
  return moved;
}

async function consumeBytes(body: Body | null): Promise<Uint8Array<ArrayBuffer>> {
  if (body === null) return new Uint8Array(0);
  assertUsable(body);
  body.used = true;
  const { stream } = body;
  const content = stream === null ? body.content : (takeSource(stream) ?? stream);
  if (typeof content === 'string') return encodeUtf8(content);
  if (content instanceof Uint8Array) {
    const whole = content.byteLength === content.buffer.byteLength;
    return ((body.shared && stream === null) || !whole ? content.slice() : content) as Uint8Array<ArrayBuffer>;
  }
  return isHostBody(content) ? readHostBody(content) : readAllBytes(content);
}

/** The text of a body; a string is not encoded and decoded for this. */
async function consumeText(body: Body | null): Promise<string> {
  if (body === null) return '';
  const { content } = body;
  if (typeof content === 'string' && body.stream === null) {
    assertUsable(body);
    body.used = true;
    return content.charCodeAt(0) === 0xfeff ? content.slice(1) : content;
  }
  const bytes = await consumeBytes(body);
  const text = decodeBody(bytes);
  // These bytes have no other reader.
  if (isHostBody(content) && body.stream === null) freeBuffer(bytes);
  return text;
}

/** Members that the mixin adds to an interface. */
export interface BodyMembers {
  readonly body: ReadableStream<Uint8Array> | null;
  readonly bodyUsed: boolean;
  arrayBuffer(): Promise<ArrayBuffer>;
  blob(): Promise<Blob>;
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  formData(): Promise<FormData>;
  json(): Promise<unknown>;
  text(): Promise<string>;
}

/** Defines the mixin's members on a prototype; `bodyOf` throws a TypeError for any other argument. */
export function installBodyMembers(
  prototype: object,
  bodyOf: (owner: object) => Body | null,
  typeOf: (owner: object) => string | null,
): void {
  const members = {
    get body(): ReadableStream<unknown> | null {
      return bodyStream(bodyOf(this));
    },
    get bodyUsed(): boolean {
      return isBodyUsed(bodyOf(this));
    },
    async arrayBuffer(): Promise<ArrayBuffer> {
      return (await consumeBytes(bodyOf(this))).buffer;
    },
    async blob(): Promise<Blob> {
      const body = bodyOf(this);
      const type = typeOf(this) ?? '';
      return new Blob([await consumeBytes(body)], { type });
    },
    async bytes(): Promise<Uint8Array<ArrayBuffer>> {
      return consumeBytes(bodyOf(this));
    },
    async formData(): Promise<FormData> {
      const body = bodyOf(this);
      const type = typeOf(this);
      return useModule('form-data').parseFormBody(await consumeBytes(body), type);
    },
    async json(): Promise<unknown> {
      return JSON.parse(await consumeText(bodyOf(this)));
    },
    async text(): Promise<string> {
      return consumeText(bodyOf(this));
    },
  };
  Object.defineProperties(prototype, Object.getOwnPropertyDescriptors(members));
}
