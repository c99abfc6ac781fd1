// The AI gateway: `ai: true` in platform.yaml.

/** A message of a conversation with a model. */
export interface AiMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string;
  /** Calls of tools, in a message of the assistant. */
  tool_calls?: AiToolCall[];
  /** The call that a message of a tool answers. */
  tool_call_id?: string;
  name?: string;
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
  function: { name: string; description?: string; parameters?: Record<string, unknown> };
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
}

/** What a model is asked: one prompt, or a conversation. */
export type AiInputs = AiSettings &
  ({ prompt: string; messages?: undefined } | { messages: AiMessage[]; prompt?: undefined });

/** A complete answer. */
export interface AiResponse {
  readonly id: string;
  readonly object: 'chat.completion';
  /** Seconds since 1970. */
  readonly created: number;
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
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly total_tokens: number };
}

/** How a call is made. */
export interface AiOptions {
  /** Resolve to the gateway's HTTP response as it is. */
  returnRawResponse?: boolean;
}

/** Models behind the AI gateway (`ai: true` in platform.yaml), `env.AI`. */
export interface Ai {
  /**
   * Asks a model; `auto` lets the gateway choose one.
   *
   * @throws when the gateway refuses: unknown model, exhausted budget, bad input.
   * @example const { choices } = await env.AI.run('auto', { prompt: 'Say hello' });
   */
  run(
    model: string,
    inputs: AiInputs & { stream?: boolean },
    options: AiOptions & { returnRawResponse: true },
  ): Promise<Response>;
  /** The answer as server-sent events, ready to be the body of a response. */
  run(model: string, inputs: AiInputs & { stream: true }, options?: AiOptions): Promise<ReadableStream<Uint8Array>>;
  run(model: string, inputs: AiInputs & { stream?: false }, options?: AiOptions): Promise<AiResponse>;
}
