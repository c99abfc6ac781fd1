// Repeats cached responses: for an identical request within the time given by the client (x-platform-cache-ttl), and
// for a call sent twice (Idempotency-Key). The cache belongs to one project of one organization, and is in memory.
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { openBill } from '../accounts/bill.ts';
import { isJson, isList, type ChatRequest, type Json } from '../contract/chat.ts';
import type { AdmittedCall, GatewayDeps } from '../contract/contract.ts';
import { GatewayError } from '../contract/errors.ts';
import { wrong } from '../contract/request-body.ts';
import { encodeFrames, sseHeaders } from '../streams/sse-writer.ts';
import { createAnswerStore, type AnswerStore, type KeptAnswers } from './answer-store.ts';
import { framesOfCompletion } from './completion.ts';
import { watchStream } from './watched-answer.ts';

const TTL_HEADER = 'x-platform-cache-ttl';
const CACHE_HEADER = 'x-platform-cache';
const KEY_HEADER = 'idempotency-key';
const CHUNK_LENGTHS = 16;
const REPLAYED_HEADER = 'idempotency-replayed';
/** Fields that do not affect the response. */
const ASIDE = new Set(['stream', 'stream_options', 'user', 'metadata']);

/** A call, with its gateway's cached responses. */
type Call = AdmittedCall & { readonly kept: KeptAnswers };

interface Question {
  readonly call: Call;
  readonly body: ChatRequest;
  /** `provider/model` of all candidates. */
  readonly models: readonly string[];
  /** Sends the request to a provider. */
  readonly ask: (body: ChatRequest) => Promise<Response>;
}

/** A cache entry: the response, and the model that gave it. */
interface Kept {
  readonly hash: string;
  readonly model: string;
  readonly completion: Json;
}

/** The response, and the completion after it was sent completely; null if it was not. */
interface Asked {
  readonly response: Response;
  readonly completed: Promise<Kept | null>;
}

export function createKeptAnswers({ now, limits }: Pick<GatewayDeps, 'now' | 'limits'>): KeptAnswers {
  const { keptBytesMax: bytesMax, keptAnswerBytesMax: answerBytesMax } = limits;
  return { store: createAnswerStore({ now, bytesMax, answerBytesMax }), pending: new Map() };
}

/** @throws {GatewayError} */
export async function keptOrAsked(question: Question): Promise<Response> {
  const { headers } = question.call.request;
  const ttl = headers.get(TTL_HEADER);
  const key = headers.get(KEY_HEADER);
  if (ttl === null && key === null) return question.ask(question.body);
  if (ttl !== null && !/^[0-9]{1,9}$/.test(ttl)) throw wrong(TTL_HEADER, 'a whole number of seconds');
  if (key !== null && !/^[\x21-\x7e]{1,255}$/.test(key))
    throw wrong(KEY_HEADER, '1 to 255 letters, digits and signs of ASCII');
  if (key !== null) return once(question, key, ttl);
  return (await cached(question, ttl!)).response;
}

/** Sends only one call per key: concurrent callers wait for its response. */
async function once(question: Question, key: string, ttl: string | null): Promise<Response> {
  const { call, body } = question;
  const { kept, deps } = call;
  const name = `key ${scopeOf(call)} ${hashOf(key)}`;
  const hash = hashOf(canonical(body));
  const refuseOther = (other: string): void => {
    if (other === hash) return;
    throw new GatewayError(
      'idempotency_mismatch',
      'This Idempotency-Key was used for a different request: use a new key',
    );
  };
  for (;;) {
    const found = read(kept.store, name);
    if (found !== null) {
      refuseOther(found.hash);
      return replay(question, found, { [REPLAYED_HEADER]: 'true' });
    }
    const under = kept.pending.get(name);
    if (under === undefined) break;
    refuseOther(under.hash);
    await waitFor(under.ended, call);
  }
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  kept.pending.set(name, { hash, ended });
  const over = (answer: Kept | null): void => {
    if (answer !== null) write(kept.store, name, { ...answer, hash }, deps.limits.idempotencyMs);
    kept.pending.delete(name);
    end();
  };
  try {
    const asked = ttl === null ? await watched(question) : await cached(question, ttl);
    void asked.completed.then(over);
    return asked.response;
  } catch (error) {
    over(null);
    throw error;
  }
}

async function waitFor(ended: Promise<void>, { request, deps }: Call): Promise<void> {
  const patience = new AbortController();
  const signal = AbortSignal.any([patience.signal, request.signal]);
  const late = pause(deps.limits.answerMs, 'late' as const, { signal }).catch(() => 'gone' as const);
  const outcome = await Promise.race([ended, late]);
  patience.abort();
  if (outcome === 'gone') throw new GatewayError('client_gone', 'The client closed the connection');
  if (outcome === 'late')
    throw new GatewayError(
      'idempotency_conflict',
      'The first request with this Idempotency-Key is still running: try again',
    );
}

async function cached(question: Question, ttl: string): Promise<Asked> {
  const { call, body, models } = question;
  const { store } = call.kept;
  if (Number(ttl) === 0) return watched(question, { [CACHE_HEADER]: 'BYPASS' });
  const name = `answer ${scopeOf(call)} ${hashOf(`${models.join()} ${canonical(body)}`)}`;
  const found = read(store, name);
  if (found !== null)
    return { response: await replay(question, found, { [CACHE_HEADER]: 'HIT' }), completed: Promise.resolve(found) };
  const asked = await watched(question, { [CACHE_HEADER]: 'MISS' });
  const ttlMs = Math.min(Number(ttl) * 1000, call.deps.limits.cacheMsMax);
  void asked.completed.then((answer) => {
    if (answer !== null) write(store, name, answer, ttlMs);
  });
  return asked;
}

/** Sends the request and observes the response. */
async function watched({ call, body, ask }: Question, headers: Json = {}): Promise<Asked> {
  const { deps } = call;
  const showsUsage = body.stream_options?.['include_usage'] === true;
  const isStream = body.stream === true;
  const options = { stream_options: { ...body.stream_options, include_usage: true } };
  const response = await ask(isStream ? { ...body, ...options } : body);
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, String(value));
  const model = response.headers.get('x-platform-model') ?? '';
  const keep = (completion: Json): Kept | null => (isWhole(completion) ? { hash: '', model, completion } : null);
  if (!isStream) {
    const text = await response.text();
    const { status, headers: own } = response;
    const completed = Promise.resolve(keep(JSON.parse(text) as Json));
    return { response: new Response(text, { status, headers: own }), completed };
  }
  const { promise: completed, resolve } = Promise.withResolvers<Kept | null>();
  const { eventCharactersMax, keptAnswerBytesMax } = deps.limits;
  // A chunk is much longer than the text it carries.
  const charactersMax = keptAnswerBytesMax * CHUNK_LENGTHS;
  const onEnd = (completion: Json | null): void => resolve(completion === null ? null : keep(completion));
  const watchedBody = watchStream(response.body!, { showsUsage, eventCharactersMax, charactersMax, onEnd });
  return { response: new Response(watchedBody, { headers: response.headers }), completed };
}

/** A response cut by a filter or a limit may be complete the next time. */
function isWhole({ choices }: Json): boolean {
  const reasons = isList(choices) ? choices.filter(isJson).map((choice) => choice['finish_reason']) : [];
  return reasons.length > 0 && reasons.every((reason) => reason === 'stop' || reason === 'tool_calls');
}

/** Counted as a request that used no tokens. */
async function replay({ call, body }: Question, { completion, model }: Kept, more: Json): Promise<Response> {
  const isStream = body.stream === true;
  const estimate = { promptTokens: 0, completionTokens: 0 };
  const bill = await openBill(call.deps, { ...call, modelRequested: body.model, isStream, models: [], estimate });
  const used = { ...estimate, cachedTokens: 0, reasoningTokens: 0, isEstimated: false };
  bill.close({ used, model, error: null, begunAt: call.deps.now() });
  const headers = {
    ...bill.headers,
    'x-platform-model': model,
    'x-platform-attempts': '0',
    'x-platform-overhead-ms': String(Math.max(0, call.deps.now() - call.startedAt)),
    ...(more as Record<string, string>),
  };
  if (!isStream) return Response.json(completion, { headers });
  const showsUsage = body.stream_options?.['include_usage'] === true;
  const frames = encodeFrames(framesOfCompletion(completion, showsUsage));
  return new Response(frames as Uint8Array<ArrayBuffer>, { headers: { ...sseHeaders, ...headers } });
}

const scopeOf = ({ caller }: Call): string => JSON.stringify([caller.organizationId, caller.projectId]);
const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');

/** A canonical text of a request, independent of the order of its fields. */
function canonical(body: ChatRequest): string {
  const asked = Object.fromEntries(Object.entries(body).filter(([name]) => !ASIDE.has(name)));
  return JSON.stringify(asked, (_, value: unknown) =>
    isJson(value) ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))) : value,
  );
}

function read(store: AnswerStore, name: string): Kept | null {
  const text = store.get(name);
  return text === null ? null : (JSON.parse(text) as Kept);
}

function write(store: AnswerStore, name: string, kept: Kept, ttlMs: number): void {
  store.set(name, JSON.stringify(kept), ttlMs);
}
