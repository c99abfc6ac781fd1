// What a provider's wire is to the gateway: how a request is put, how an answer, a stream and a failure are read. Each
// wire is a file of providers/; wires.ts there names them.
import type { ChatRequest, Json, Used } from './chat.ts';
import type { ProviderConfig } from './contract.ts';

/** A model at its provider. */
export interface Target {
  readonly provider: ProviderConfig;
  /** As the provider calls it. */
  readonly model: string;
}

/** `provider/model` of a target. */
export const nameOf = ({ provider, model }: Target): string => `${provider.name}/${model}`;

/** An event of a provider's stream; `event` is '' where the stream names none. */
export interface SseEvent {
  readonly event: string;
  readonly data: string;
}

/** A request to a provider, beside what all of them get. */
export interface WireRequest {
  /** Behind the provider's URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

/** What one event of a provider's stream is on the chat-completions wire. */
export type StreamPiece =
  /** @param text the chunk as it came, where it may be passed on so. */
  | { readonly kind: 'chunk'; readonly chunk: Json; readonly text: string | null }
  /** What the answer used so far; for nobody but the account. */
  | { readonly kind: 'usage'; readonly used: Used }
  | { readonly kind: 'error'; readonly said: Said }
  | { readonly kind: 'done' };

/** What a provider says of a failure; all of it may be passed on. */
export interface Said {
  readonly message: string;
  readonly type: string | null;
  readonly code: string | null;
  readonly param: string | null;
  /** Whether it speaks of the key, whatever its status. */
  readonly isKeyRefused?: boolean;
  readonly retryAfterMs?: number | null;
}

/** How long an answer may be where the request says nothing. */
export interface AnswerHold {
  /** Whether a limit of tokens applies: the answer is then held to the number. */
  readonly isBounded: boolean;
  readonly tokensDefault: number;
}

/** Texts to embed, checked by routes/embeddings.ts; it has more fields than these. */
export interface EmbeddingsRequest extends Json {
  readonly model: string;
}

/** A provider's wire. */
export interface Wire {
  /** @throws {GatewayError} 400: what this wire cannot say. */
  chatRequest(target: Target, request: ChatRequest, hold: AnswerHold): WireRequest;
  /** Of an answer with a good status. @throws {BadAnswer} */
  chatAnswer(answer: unknown): Json;
  /** For one stream. What the function throws counts as a broken stream. */
  openStream(): (event: SseEvent) => readonly StreamPiece[];
  /** Null: it has none. */
  embeddingsRequest: ((target: Target, request: EmbeddingsRequest) => WireRequest) | null;
  /** Of an answer with a good status. @throws {BadAnswer} */
  embeddingsAnswer(answer: unknown, request: EmbeddingsRequest): Json;
  /** Of an answer with a bad status. */
  said(answer: unknown): Said;
}

/** A provider answered something that its wire does not have; the message is ours, and may be told. */
export class BadAnswer extends Error {}
