// The AI gateway: `ai: true` in platform.yaml.

/** A part of a message: text, an image, or what else a model takes. */
export type AiContentPart =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string; detail?: 'auto' | 'low' | 'high' } }
  | { type: string; [field: string]: unknown };

/** A message of a conversation with a model. */
export interface AiMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  /** Null where the assistant only calls tools. */
  content?: string | AiContentPart[] | null;
  /** Calls of tools, in a message of the assistant. */
  tool_calls?: AiToolCall[];
  /** The call that a message of a tool answers. */
  tool_call_id?: string;
  name?: string;
  /** What a provider adds, to be sent back as it came. */
  [field: string]: unknown;
}

/** A tool that the model wants called. */
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

/** Settings that go with a prompt or messages. */
export interface AiSettings {
  /** 0 to 2; 1 by default. */
  temperature?: number;
  /** Longest response, in tokens. */
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
  /** What else the chat-completions format has. */
  [field: string]: unknown;
}

/** What a model is asked: one prompt, or a conversation. */
export type AiInputs = AiSettings &
  ({ prompt: string; messages?: undefined } | { messages: AiMessage[]; prompt?: undefined });

/** Texts to be made vectors. */
export interface AiEmbeddingInputs {
  input: string | string[];
  dimensions?: number;
  [field: string]: unknown;
}

/** The tokens of a call. */
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
  /** The one that answered, by the name that its provider has for it. */
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

/** Vectors of texts, in their order. */
export interface AiEmbeddings {
  readonly object: 'list';
  readonly data: { readonly object: 'embedding'; readonly index: number; readonly embedding: number[] }[];
  readonly model: string;
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number };
}

/** A model that can be asked. */
export interface AiModel {
  readonly id: string;
  readonly object: 'model';
  readonly owned_by: string;
}

/** How a call is made. */
export interface AiOptions {
  /** Ends the call, and the provider's work on it. Default: `request.signal`; null: nothing ends it. */
  signal?: AbortSignal | null;
  /** How long a provider may take to begin its answer. */
  timeoutMs?: number;
  /** Models that are tried in turn where the first one fails. */
  fallbacks?: string[];
  /** Seconds for which the same question has the same answer, without asking the model again. */
  cacheTtl?: number;
  /** Asks the model although an answer is kept. */
  skipCache?: boolean;
  /** Goes to the provider as `metadata`, its values as texts. */
  metadata?: Record<string, string | number | boolean>;
  /** `idempotency-key`, `user-agent`, and names that begin with `x-`, but for those of the platform. */
  extraHeaders?: Record<string, string>;
  /** Resolve to the gateway's HTTP response as it is, also where it refuses. */
  returnRawResponse?: boolean;
}

/** Why the gateway gave no answer: its `name` is `AiError`. */
export interface AiError extends Error {
  readonly name: 'AiError';
  /** As of HTTP: 429 for a limit, 404 for a model that nobody knows. */
  readonly status: number;
  /** Such as `model_not_found`, `rate_limit_exceeded`, `insufficient_quota`. */
  readonly code: string | null;
  readonly type: string | null;
  /** The field of the inputs that it is about. */
  readonly param: string | null;
  /** By which the operator finds the call. */
  readonly requestId: string | null;
}

/** Models behind the AI gateway (`ai: true` in platform.yaml), `env.AI`. */
export interface Ai {
  /**
   * Asks a model; `auto` lets the gateway choose one.
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
  /** The models that the gateway names. */
  models(): Promise<AiModel[]>;
}
