// The AI gateway, which `ai: true` in platform.yaml enables.

/** A part of a message: text, an image, or another type that a model accepts. */
export type AiContentPart =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string; detail?: 'auto' | 'low' | 'high' } }
  | { type: string; [field: string]: unknown };

/** A message of a conversation with a model. */
export interface AiMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  /** The content of the message; null if the assistant only calls tools. */
  content?: string | AiContentPart[] | null;
  /** Tool calls, in a message of the assistant. */
  tool_calls?: AiToolCall[];
  /** The call that a tool's message answers. */
  tool_call_id?: string;
  name?: string;
  /** Additional fields of a provider, to be sent back unchanged. */
  [field: string]: unknown;
}

/** A tool call of the model. */
export interface AiToolCall {
  id: string;
  type: 'function';
  /** `arguments` is JSON text. */
  function: { name: string; arguments: string };
}

/** A tool that the model may call. */
export interface AiTool {
  type: 'function';
  /** `parameters` is a JSON Schema. */
  function: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean };
}

/** Settings for a prompt or messages. */
export interface AiSettings {
  /** 0 to 2; 1 by default. */
  temperature?: number;
  /** Maximum length of the response, in tokens. */
  max_tokens?: number;
  /** 0 to 1; 1 by default. */
  top_p?: number;
  tools?: AiTool[];
  tool_choice?: 'auto' | 'none' | 'required' | { type: 'function'; function: { name: string } };
  /** `json_object`, or `json_schema` with the schema of the answer. */
  response_format?: {
    type: string;
    json_schema?: { name: string; schema?: Record<string, unknown>; strict?: boolean };
  };
  stop?: string | string[];
  seed?: number;
  /** Other fields of the chat-completions format. */
  [field: string]: unknown;
}

/** Input of a model: one prompt, or a conversation. */
export type AiInputs = AiSettings &
  ({ prompt: string; messages?: undefined } | { messages: AiMessage[]; prompt?: undefined });

/** Texts to embed. */
export interface AiEmbeddingInputs {
  input: string | string[];
  dimensions?: number;
  [field: string]: unknown;
}

/** Token usage of a call. */
export interface AiUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** A complete answer. */
export interface AiResponse {
  readonly id: string;
  readonly object: 'chat.completion';
  /** Seconds since 1970. */
  readonly created: number;
  /** The model that answered, by the name that its provider uses. */
  readonly model: string;
  readonly choices: {
    readonly index: number;
    readonly message: {
      readonly role: 'assistant';
      readonly content: string | null;
      readonly tool_calls?: AiToolCall[];
    };
    readonly finish_reason: string;
  }[];
  readonly usage: AiUsage;
}

/** Vectors of texts, in order. */
export interface AiEmbeddings {
  readonly object: 'list';
  readonly data: { readonly object: 'embedding'; readonly index: number; readonly embedding: number[] }[];
  readonly model: string;
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number };
}

/** An available model. */
export interface AiModel {
  readonly id: string;
  readonly object: 'model';
  readonly owned_by: string;
}

/** Options of a call. */
export interface AiOptions {
  /**
   * A signal that ends the call and the provider's work. By default, it is `request.signal`; with null, nothing ends
   * the call.
   */
  signal?: AbortSignal | null;
  /** How long a provider may take to begin its answer. */
  timeoutMs?: number;
  /** Models to try in order if the first one fails. */
  fallbacks?: string[];
  /** Seconds for which an identical request is answered from the cache, without calling the model. */
  cacheTtl?: number;
  /** Calls the model even if a cached answer exists. */
  skipCache?: boolean;
  /** Sent to the provider as `metadata`, with values as texts. */
  metadata?: Record<string, string | number | boolean>;
  /**
   * Additional headers: `idempotency-key`, `user-agent`, and names that begin with `x-`, except those of the platform.
   */
  extraHeaders?: Record<string, string>;
  /** Resolves to the gateway's HTTP response unchanged, even if it is an error. */
  returnRawResponse?: boolean;
}

/** An error of the gateway: its `name` is `AiError`. */
export interface AiError extends Error {
  readonly name: 'AiError';
  /** HTTP status: 429 for a limit, 404 for an unknown model. */
  readonly status: number;
  /** For example `model_not_found`, `rate_limit_exceeded`, `insufficient_quota`. */
  readonly code: string | null;
  readonly type: string | null;
  /** The input field that caused the error. */
  readonly param: string | null;
  /** Id by which the operator finds the call. */
  readonly requestId: string | null;
}

/** Models behind the AI gateway (`ai: true` in platform.yaml), `env.AI`. */
export interface Ai {
  /**
   * Calls a model; `auto` lets the gateway choose one.
   *
   * @throws {AiError} when the gateway refuses: unknown model, exhausted budget, bad input.
   * @example const { choices } = await env.AI.run('auto', { prompt: 'Say hello' });
   */
  run(
    model: string,
    inputs: AiInputs | AiEmbeddingInputs,
    options: AiOptions & { returnRawResponse: true },
  ): Promise<Response>;
  /** The answer as server-sent events, ready to be the body of a response. */
  run(model: string, inputs: AiInputs & { stream: true }, options?: AiOptions): Promise<ReadableStream<Uint8Array>>;
  run(model: string, inputs: AiInputs & { stream?: false }, options?: AiOptions): Promise<AiResponse>;
  /** Vectors of texts. */
  run(model: string, inputs: AiEmbeddingInputs, options?: AiOptions): Promise<AiEmbeddings>;
  /** The models of the gateway. */
  models(): Promise<AiModel[]>;
}
