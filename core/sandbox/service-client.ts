// HTTP client of the sandbox service, for processes of the platform that use sandboxes: the builder, the API.
// Responses of sandboxes are untrusted and limited here.
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { PlatformError } from '../errors.ts';
import {
  ARGUMENTS_HEADER,
  type AgentOperation,
  type SandboxInfo,
  type SandboxPlace,
  type ServiceOperation,
} from './operations.ts';
import { REFUSAL_BYTES_MAX, refusalIn } from './refusal.ts';

/** Address of the service. */
export interface SandboxServiceAddress {
  /** `SANDBOX_URL`. */
  readonly url: string;
  /** `SANDBOX_AUTH_TOKEN`. */
  readonly token: string;
}

/** Options of every call. */
interface SandboxCallOptions {
  /** Aborts the call, and its work in the sandbox; the call throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** Additional headers of the request. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** One server-sent event of a sandbox. */
type SandboxEvent = Readonly<Record<string, unknown>>;

/** Every method throws PlatformErrors: `sandbox_unavailable` if the service does not answer. */
export interface SandboxServiceClient {
  /** An operation with JSON in both directions. */
  call(
    place: SandboxPlace,
    operation: AgentOperation | ServiceOperation,
    args?: object,
    options?: SandboxCallOptions,
  ): Promise<unknown>;
  /**
   * Sandboxes of a resource, ordered by id, one page. @param page query of the request: `prefix`, `limit`, `cursor`.
   */
  list(
    within: Omit<SandboxPlace, 'id'>,
    page?: Readonly<Record<string, string>>,
    options?: SandboxCallOptions,
  ): Promise<{ readonly items: readonly SandboxInfo[]; readonly cursor: string | null }>;
  /** Null if there is no such sandbox. */
  info(place: SandboxPlace, options?: SandboxCallOptions): Promise<SandboxInfo | null>;
  /** An operation that responds with events. @throws {PlatformError} `sandbox_lost` if the events end early. */
  events(
    place: SandboxPlace,
    operation: AgentOperation,
    args?: object,
    options?: SandboxCallOptions,
  ): AsyncGenerator<SandboxEvent>;
  /** The bytes of a file, of any length: the reader has to limit them. */
  read(place: SandboxPlace, path: string, options?: SandboxCallOptions): Promise<Readable>;
  write(
    place: SandboxPlace,
    file: { readonly path: string; readonly mode?: number },
    content: Readable | Uint8Array,
    options?: SandboxCallOptions,
  ): Promise<void>;
}

/** JSON responses are short; output of `exec` is at most 10 MiB per stream, and may double in size as JSON. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** One event: the output of one write of a process. */
const EVENT_CHARS_MAX = 4 * 1024 * 1024;

/** @example const client = openSandboxClient({ url: 'http://sandbox:4006', token }); */
export function openSandboxClient({ url, token }: SandboxServiceAddress): SandboxServiceClient {
  const origin = new URL(url);
  // `node:http` is not imported, because an import reads all exports, including the getters that load Node's own HTTP
  // client.
  const { request } = process.getBuiltinModule(origin.protocol === 'https:' ? 'node:https' : 'node:http');
  const within = ({ project, resource }: Omit<SandboxPlace, 'id'>): string =>
    `/v1/projects/${encodeURIComponent(project)}/sandboxes/${encodeURIComponent(resource)}`;
  const pathOf = (place: SandboxPlace, operation: string): string =>
    `${within(place)}/${encodeURIComponent(place.id)}/${operation}`;

  async function ask(
    path: string,
    headers: Readonly<Record<string, string>>,
    body: Readable | Uint8Array,
    { signal, headers: more }: SandboxCallOptions,
    method = 'POST',
  ): Promise<IncomingMessage> {
    signal?.throwIfAborted();
    const options: RequestOptions = {
      hostname: origin.hostname.replace(/^\[|\]$/g, ''),
      port: origin.port,
      path,
      method,
      // The service may have closed a kept-alive connection at the same moment.
      agent: false,
      headers: { ...more, ...headers, authorization: `Bearer ${token}` },
      ...(signal !== undefined && { signal }),
    };
    const outgoing = request(options);
    const answered = answerOf(outgoing);
    answered.catch(() => {});
    // If the service responds before it has read the whole request, its response is used.
    const sent = body instanceof Readable ? pipeline(body, outgoing) : (outgoing.end(body), null);
    sent?.catch((error: unknown) => {
      if (body instanceof Readable && body.errored !== null) outgoing.destroy(error as Error);
    });
    try {
      const answer = await answered;
      if (answer.statusCode === 200) return answer;
      throw await refusalOf(answer);
    } catch (error) {
      signal?.throwIfAborted();
      if (body instanceof Readable && body.errored !== null) throw body.errored;
      if (error instanceof PlatformError) throw error;
      throw unreachable(error);
    }
  }

  function send(
    place: SandboxPlace,
    operation: string,
    args: object,
    options: SandboxCallOptions,
  ): Promise<IncomingMessage> {
    const body = Buffer.from(JSON.stringify(args));
    const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
    return ask(pathOf(place, operation), headers, body, options);
  }

  async function call(
    place: SandboxPlace,
    operation: AgentOperation | ServiceOperation,
    args: object = {},
    options: SandboxCallOptions = {},
  ): Promise<unknown> {
    return jsonOf(await send(place, operation, args, options), options.signal);
  }

  return {
    call,
    async list(of, page = {}, options = {}) {
      const path = `${within(of)}?${new URLSearchParams(page).toString()}`;
      const answer = await jsonOf(await ask(path, {}, Buffer.alloc(0), options, 'GET'), options.signal);
      const { items, cursor } = (answer ?? {}) as { items?: unknown; cursor?: unknown };
      if (!Array.isArray(items)) throw odd('it does not return a list');
      return {
        items: items.map(toInfo).filter((item) => item !== null),
        cursor: typeof cursor === 'string' ? cursor : null,
      };
    },
    info: async (place, options) => toInfo(await call(place, 'info', {}, options)),
    async *events(place, operation, args = {}, options = {}) {
      const answer = await send(place, operation, args, options);
      try {
        yield* eventsOf(answer);
      } catch (error) {
        options.signal?.throwIfAborted();
        throw error instanceof PlatformError ? error : cutOff(error);
      } finally {
        answer.destroy();
      }
    },
    read: async (place, path, options = {}) => {
      const answer = await send(place, 'readFile', { path }, options);
      // The reader of the response receives the error.
      answer.on('error', () => {});
      return answer;
    },
    async write(place, { path, mode }, content, options = {}) {
      const args = encodeURIComponent(JSON.stringify({ path, ...(mode !== undefined && { mode }) }));
      const headers = { 'content-type': 'application/octet-stream', [ARGUMENTS_HEADER]: args };
      await jsonOf(await ask(pathOf(place, 'writeFile'), headers, content, options), options.signal);
    },
  };
}

function answerOf(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // The error listener also stays after the response, because a connection may break at any time.
    outgoing.once('response', resolve).on('error', reject);
  });
}

async function textOf(answer: IncomingMessage, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw odd(`it says more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function jsonOf(answer: IncomingMessage, signal: AbortSignal | undefined): Promise<unknown> {
  try {
    return JSON.parse(await textOf(answer, ANSWER_BYTES_MAX)) as unknown;
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PlatformError) throw error;
    throw error instanceof SyntaxError ? odd('it does not return JSON') : cutOff(error);
  }
}

/** The error in the service's response; if its code is unknown, an error that the server is not a sandbox service. */
async function refusalOf(answer: IncomingMessage): Promise<PlatformError> {
  const text = await textOf(answer, REFUSAL_BYTES_MAX).catch(() => '');
  return refusalIn(text) ?? odd(`it answers with status ${answer.statusCode}`);
}

async function* eventsOf(answer: IncomingMessage): AsyncGenerator<SandboxEvent> {
  let rest = '';
  for await (const chunk of answer.setEncoding('utf8') as AsyncIterable<string>) {
    rest += chunk;
    const parts = rest.split('\n\n');
    rest = parts.pop()!;
    if (rest.length > EVENT_CHARS_MAX) throw odd(`it says an event of more than ${EVENT_CHARS_MAX} characters`);
    for (const part of parts) {
      const event = toEvent(part);
      if (event !== null) yield event;
    }
  }
}

function toEvent(part: string): SandboxEvent | null {
  if (!part.startsWith('data: ')) return null;
  try {
    const value = JSON.parse(part.slice('data: '.length)) as unknown;
    return value !== null && typeof value === 'object' ? (value as SandboxEvent) : null;
  } catch {
    return null;
  }
}

function toInfo(value: unknown): SandboxInfo | null {
  return value !== null && typeof value === 'object' && typeof (value as SandboxInfo).state === 'string'
    ? (value as SandboxInfo)
    : null;
}

function codeOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}

function unreachable(error: unknown): PlatformError {
  return new PlatformError(
    'sandbox_unavailable',
    { reason: `the sandbox service does not answer (${codeOf(error)})` },
    { cause: error },
  );
}

function cutOff(error: unknown): PlatformError {
  return new PlatformError('sandbox_lost', { reason: codeOf(error) }, { cause: error });
}

function odd(what: string): PlatformError {
  return new PlatformError('sandbox_unavailable', {
    reason: `unexpected response of the sandbox service: ${what}`,
  });
}
