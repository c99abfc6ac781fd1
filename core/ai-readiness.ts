// Determines whether AI requests can be served, and which configuration is missing. The same texts are in workers'
// errors, after `platform deploy`, in `platform doctor` and in the dashboard. Pure.

/** The public part of the operator's AI settings. */
export interface OperatorAi {
  /** Kinds of the providers. */
  readonly kinds: readonly string[];
  /** Models that `auto` tries. */
  readonly auto: readonly string[];
}

/** Whether AI requests can be served; `mock` means without a real model. */
export type AiReadiness = 'ready' | 'mock' | 'no_auto' | 'no_provider' | 'no_gateway';

/** Advice for each state. */
export const aiAdvice = {
  ready: null,
  mock: 'The mock provider answers AI requests. To use a real model, the operator sets AI_PROVIDER_<NAME>_KEY',
  no_auto:
    'The model "auto" is not configured: use provider/model, or set it as the operator (AI_AUTO) or as an owner of the organization (page AI)',
  no_provider:
    'No AI provider is set up: the operator sets AI_PROVIDER_<NAME>_KEY and AI_AUTO (AI_PROVIDER_MOCK_KIND=mock needs no key), or an owner of the organization adds a provider on its AI page',
  no_gateway:
    'This platform runs no AI gateway: the operator sets AI_GATEWAY_URL to the address of the API that has the AI_PROVIDER_<NAME>_KEY and AI_AUTO, or ENCRYPTION_KEY so that one starts here',
} as const satisfies Record<AiReadiness, string | null>;

/**
 * The state for an organization.
 *
 * @param operator null if there is no gateway. @param own the settings of the organization itself.
 */
export function aiReadiness(operator: OperatorAi | null, own: OperatorAi): AiReadiness {
  if (operator === null) return 'no_gateway';
  const kinds = [...operator.kinds, ...own.kinds];
  if (kinds.length === 0) return 'no_provider';
  if (operator.auto.length === 0 && own.auto.length === 0 && !isMockAlone(kinds)) return 'no_auto';
  return kinds.every((kind) => kind === 'mock') ? 'mock' : 'ready';
}

/** Whether the mock is the only provider. It then serves requests that name no model. */
export function isMockAlone(kinds: readonly string[]): boolean {
  return kinds.length === 1 && kinds[0] === 'mock';
}

/** Serializes the settings for the API; set by the supervisor. */
export function operatorAiText({ kinds, auto }: OperatorAi): string {
  return JSON.stringify({ kinds, auto });
}

/** Parses the operator's AI settings; null if there are none. */
export function operatorAiFrom(text: string): OperatorAi | null {
  return text === '' ? null : (JSON.parse(text) as OperatorAi);
}
