// The chat-completions wire as the gateway knows it: what it reads of requests and answers. All else passes through.

/** An object of JSON. */
export type Json = Readonly<Record<string, unknown>>;

/** A request, checked by request-body.ts; it has more fields than these. */
export interface ChatRequest extends Json {
  readonly model: string;
  readonly messages: readonly Json[];
  readonly stream?: boolean | null;
  readonly stream_options?: Json | null;
  readonly n?: number | null;
  readonly max_tokens?: number | null;
  readonly max_completion_tokens?: number | null;
}

/** Tokens as this wire reports them. */
export interface WireUsage extends Json {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** What was used, by whatever wire it was said. */
export interface Used {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  readonly isEstimated: boolean;
}

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** A number of tokens that a provider told; 0: none. */
export const tokenCount = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.min(Math.ceil(value), 1e12) : 0;

/** What an answer or a chunk says it used; null: nothing. */
export function usedOf(usage: unknown): Used | null {
  if (!isJson(usage)) return null;
  const prompt = isJson(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {};
  const completion = isJson(usage['completion_tokens_details']) ? usage['completion_tokens_details'] : {};
  const used = {
    promptTokens: tokenCount(usage['prompt_tokens']),
    completionTokens: tokenCount(usage['completion_tokens']),
    cachedTokens: tokenCount(prompt['cached_tokens']),
    reasoningTokens: tokenCount(completion['reasoning_tokens']),
    isEstimated: false,
  };
  // A provider that fills the object with zeros has counted nothing.
  return used.promptTokens + used.completionTokens === 0 ? null : used;
}

export function wireUsage(used: Used): WireUsage {
  return {
    prompt_tokens: used.promptTokens,
    completion_tokens: used.completionTokens,
    total_tokens: used.promptTokens + used.completionTokens,
    prompt_tokens_details: { cached_tokens: used.cachedTokens },
    completion_tokens_details: { reasoning_tokens: used.reasoningTokens },
  };
}
