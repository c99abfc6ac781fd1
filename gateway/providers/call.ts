// One attempt at a provider: sends the request, enforces time and size limits, and parses the response.
import { isFailure } from '#core/failure.ts';
import type { GatewayLimits } from '#core/limits.ts';
import type { GatewayDeps, ProviderResponse } from '../contract/contract.ts';
import { GatewayError } from '../contract/errors.ts';
import type { Pieces } from '../streams/chat-stream.ts';
import { SseReader } from '../streams/sse-reader.ts';
import { type StreamPiece, type Target, type Wire, type WireRequest, nameOf } from '../contract/wire.ts';
import { badAnswer, failureOf, outage, timeout } from './failure.ts';
import { answerMock } from './mock.ts';

/** Header that counts how many gateways a request has passed. */
export const HOPS_HEADER = 'x-platform-ai-hops';

const REFUSAL_BYTES_MAX = 1_000_000;
const TOO_LONG = 'ANSWER_TOO_LONG';
/** Our own error codes: they do not indicate a connection failure. */
const OWN_CODES: ReadonlySet<string> = new Set([TOO_LONG, 'EGRESS_FORBIDDEN']);

/** State shared by all attempts of one call. */
export interface CallContext {
  readonly send: GatewayDeps['send'];
  readonly limits: GatewayLimits;
  /** Abort signal of the client. */
  readonly signal: AbortSignal;
  /** The client's timeout per attempt; null if not set. */
  readonly timeoutMs: number | null;
  /** Gateways that the request has passed. */
  readonly hops: number;
}

/** A provider's stream that has begun. */
interface OpenedStream {
  readonly first: readonly StreamPiece[];
  readonly rest: Pieces;
  readonly abort: () => void;
}

/** @throws {GatewayError} */
export async function askForJson<Answer>(
  context: CallContext,
  target: Target,
  wire: Wire,
  request: WireRequest,
  read: (answer: unknown) => Answer,
): Promise<Answer> {
  const attempt = begin(context, target);
  try {
    const response = await attempt.send(request);
    if (!isGood(response)) throw await refused(response, target, wire, context.limits);
    return read(JSON.parse(await readText(response, context.limits.answerBytesMax)));
  } catch (error) {
    throw attempt.explain(error);
  } finally {
    attempt.close();
  }
}

const isGood = ({ status }: ProviderResponse): boolean => status >= 200 && status <= 299;

/**
 * Resolves when the response has begun. @throws {GatewayError} also when the client has
 * disconnected.
 */
export async function askForStream(
  context: CallContext,
  target: Target,
  wire: Wire,
  request: WireRequest,
): Promise<OpenedStream> {
  const attempt = begin(context, target);
  try {
    const response = await attempt.send(request);
    if (!isGood(response)) throw await refused(response, target, wire, context.limits);
    const rest = readPieces(response, wire, context.limits, attempt);
    let first: readonly StreamPiece[] = [];
    for (;;) {
      const { done, value } = await rest.next();
      if (done === true) throw badAnswer(nameOf(target), 'the stream ended before it began');
      // Of the usage events before the answer begins, only the last is kept. Usage events are not sent to the client.
      const begun = value.find(({ kind }) => kind !== 'usage');
      first = begun === undefined ? [...first, ...value].slice(-1) : [...first, ...value];
      if (begun === undefined) continue;
      if (begun.kind === 'error') throw badAnswer(nameOf(target), begun.said.message);
      if (begun.kind === 'done') throw badAnswer(nameOf(target), 'the stream ended before it began');
      attempt.begun();
      return { first, rest, abort: attempt.abort };
    }
  } catch (error) {
    const explained = attempt.explain(error);
    attempt.abort();
    throw explained;
  }
}

type Attempt = ReturnType<typeof begin>;

function begin({ send, limits, signal, timeoutMs, hops }: CallContext, target: Target) {
  const name = nameOf(target);
  const own = new AbortController();
  const waitMs = Math.min(timeoutMs ?? limits.answerMs, limits.answerMs);
  let lateMs: number | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = (): void => clearTimeout(timer);
  const waitFor = (ms: number): ReturnType<typeof setTimeout> =>
    setTimeout(() => {
      lateMs = ms;
      own.abort();
    }, ms);
  // Keep-alive bytes do not reset the timeout.
  const deadline = waitFor(waitMs);
  const abort = (): void => {
    close();
    own.abort();
  };
  const close = (): void => {
    end();
    clearTimeout(deadline);
    signal.removeEventListener('abort', abort);
  };
  // Linking the signals by hand is cheaper than AbortSignal.any, which creates a third signal and holds it weakly. Once
  // that third signal was garbage-collected, a client's disconnect aborted nothing.
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  return {
    end,
    /** Stops all timeouts. */
    close,
    abort,
    /** Restarts the timeout for the next bytes. */
    goesOn: () => void (timer = waitFor(limits.streamIdleMs)),
    begun: () => clearTimeout(deadline),
    send({ path, headers, body }: WireRequest): Promise<ProviderResponse> {
      const { kind, url } = target.provider;
      const isMock = kind === 'mock';
      const request = {
        url: `${isMock ? 'http://mock.invalid' : url.replace(/\/+$/, '')}${path}`,
        headers: { 'content-type': 'application/json', ...headers, [HOPS_HEADER]: String(hops + 1) },
        body: JSON.stringify(body),
        signal: own.signal,
      };
      if (!isMock) return send(request, target.provider);
      const { url: mockUrl, ...init } = request;
      return answerMock(new Request(mockUrl, { ...init, method: 'POST' }));
    },
    /** Classifies a failure. */
    explain(error: unknown): GatewayError {
      if (error instanceof GatewayError && error.details.upstream !== undefined) return error;
      if (signal.aborted) return new GatewayError('client_gone', 'The client closed the connection');
      if (lateMs !== null) return timeout(name, lateMs, timeoutMs !== null && lateMs === timeoutMs);
      if (isFailure(error, 'unreadable_answer')) return badAnswer(name, `an unreadable response: ${error.message}`);
      if (error instanceof SyntaxError) return badAnswer(name, 'the response of the provider is not JSON');
      const code = codeOf(error);
      if (code === null) return badAnswer(name, 'the provider sent no readable response');
      const what = `the provider did not respond: ${code}`;
      return OWN_CODES.has(code) ? badAnswer(name, what) : outage(name, what);
    },
  };
}

/**
 * The code of a network error. The message of the error is never used, since it contains addresses. Null if the error
 * has no code.
 */
function codeOf(error: unknown): string | null {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } };
  const found = code ?? cause?.code;
  const isWord = typeof found === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(found);
  return isWord ? found : null;
}

async function refused(response: ProviderResponse, target: Target, wire: Wire, limits: GatewayLimits) {
  const text = await readText(response, Math.min(REFUSAL_BYTES_MAX, limits.answerBytesMax)).catch(() => '');
  let answer: unknown = null;
  try {
    answer = JSON.parse(text);
  } catch {
    // An error page of a proxy: its status is enough.
  }
  return failureOf(nameOf(target), response, wire.said(answer));
}

async function* readPieces(
  response: ProviderResponse,
  wire: Wire,
  limits: GatewayLimits,
  attempt: Attempt,
): AsyncGenerator<readonly StreamPiece[], void, void> {
  const events = new SseReader(limits.eventCharactersMax);
  const read = wire.openStream();
  const pieces: StreamPiece[] = [];
  try {
    for await (const bytes of response.body ?? []) {
      // The timeout does not run while the client is slow.
      attempt.end();
      for (const event of events.push(bytes)) pieces.push(...read(event));
      if (pieces.length > 0) yield pieces.splice(0);
      attempt.goesOn();
    }
    const last = events.end();
    if (last !== null) yield read(last);
  } catch (error) {
    const explained = attempt.explain(error);
    // Events that arrived completely before a broken event, in the same bytes.
    if (pieces.length > 0) yield pieces;
    throw explained;
  } finally {
    attempt.close();
  }
}

async function readText(response: ProviderResponse, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > bytesMax) throw Object.assign(new Error('too long'), { code: TOO_LONG });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
