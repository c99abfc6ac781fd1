// Interface of a provider's protocol: building requests, and parsing responses, streams and errors. Each protocol is a
// file in providers/, registered in wires.ts.
import type { ChatRequest, Json, Used } from './chat.ts';
import type { ProviderConfig } from './contract.ts';

/** A model at its provider. */
export interface Target {
  readonly provider: ProviderConfig;
  /** The provider's name for the model. */
  readonly model: string;
}

/** `provider/model` of a target. */
export const nameOf = ({ provider, model }: Target): string => `${provider.name}/${model}`;

/** An event of a provider's stream; `event` is '' if it has no name. */
export interface SseEvent {
  readonly event: string;
  readonly data: string;
}

/** The provider-specific part of a request. */
export interface WireRequest {
  /** Path appended to the provider's URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

/** An event of a provider's stream, converted to the chat-completions protocol. */
export type StreamPiece =
  /** @param text the original chunk, if it can be passed on unchanged. */
  | { readonly kind: 'chunk'; readonly chunk: Json; readonly text: string | null }
  /** Usage so far; only for accounting. */
  | { readonly kind: 'usage'; readonly used: Used }
  | { readonly kind: 'error'; readonly said: Said }
  | { readonly kind: 'done' };

/** A provider's error, which may be forwarded completely. */
export interface Said {
  readonly message: string;
  readonly type: string | null;
  readonly code: string | null;
  readonly param: string | null;
  /** Whether the error concerns the API key, whatever its status. */
  readonly isKeyRefused?: boolean;
  readonly retryAfterMs?: number | null;
}

/** Maximum tokens of the response if the request sets none. */
export interface AnswerHold {
  /**
   * Whether a token limit applies: the response is then limited to `tokensDefault`, unless the request sets a maximum.
   */
  readonly isBounded: boolean;
  readonly tokensDefault: number;
}

/** Texts to embed, validated by routes/embeddings.ts; it has more fields than these. */
export interface EmbeddingsRequest extends Json {
  readonly model: string;
}

/** A provider's protocol. */
export interface Wire {
  /** @throws {GatewayError} 400: the protocol does not support the request. */
  chatRequest(target: Target, request: ChatRequest, hold: AnswerHold): WireRequest;
  /** Parses a successful response. @throws {Failure} `unreadable_answer` */
  chatAnswer(answer: unknown): Json;
  /** Creates the parser of one stream. If the parser throws, the stream counts as broken. */
  openStream(): (event: SseEvent) => readonly StreamPiece[];
  /** Null: not supported. */
  embeddingsRequest: ((target: Target, request: EmbeddingsRequest) => WireRequest) | null;
  /** Parses a successful response. @throws {Failure} `unreadable_answer` */
  embeddingsAnswer(answer: unknown, request: EmbeddingsRequest): Json;
  /** Parses an error response. */
  said(answer: unknown): Said;
}
