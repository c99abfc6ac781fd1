// Types of the chat-completions protocol: the fields of requests and responses that the gateway reads. All other fields
// are passed through.

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** A request, validated by request-body.ts; it has more fields than these. */
export interface ChatRequest extends Json {
  readonly model: string;
  readonly messages: readonly Json[];
  readonly stream?: boolean | null;
  readonly stream_options?: Json | null;
  readonly n?: number | null;
  readonly max_tokens?: number | null;
  readonly max_completion_tokens?: number | null;
}

/** Token usage in this protocol. */
interface WireUsage extends Json {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** Usage, independent of the provider's protocol. */
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

/** A token count reported by a provider; 0 if the provider reported none. */
export const tokenCount = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.min(Math.ceil(value), 1e12) : 0;

/** Usage reported by a response or a chunk, or null. */
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
  // If all counts are zero, the provider has not counted.
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
