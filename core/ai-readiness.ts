// Whether calls of models can be answered, and what is missing where they cannot: the same words in the errors that
// workers get, after `platform deploy`, in `platform doctor` and in the dashboard. Pure.

/** Of the operator, as far as everybody may know it. */
export interface OperatorAi {
  /** Kinds of the providers. */
  readonly kinds: readonly string[];
  /** What `auto` tries. */
  readonly auto: readonly string[];
}

/** `mock`: answered, and by no model. */
export type AiReadiness = 'ready' | 'mock' | 'no_auto' | 'no_provider' | 'no_gateway';

/** What to do about each. */
export const aiAdvice = {
  ready: null,
  mock: 'Calls of models are answered by the mock provider: the operator sets AI_PROVIDER_<NAME>_KEY for others',
  no_auto:
    'Nothing says which models "auto" is: name one as provider/model, or the operator sets AI_AUTO, or an owner of the organization names them on its page AI',
  no_provider:
    'No AI provider is set up: the operator sets AI_PROVIDER_<NAME>_KEY and AI_AUTO (AI_PROVIDER_MOCK_KIND=mock needs no key), or an owner of the organization adds a provider on its page AI',
  no_gateway:
    'This platform runs no AI gateway: the operator sets AI_GATEWAY_URL to the address of the API that has the AI_PROVIDER_<NAME>_KEY and AI_AUTO, or ENCRYPTION_KEY so that one starts here',
} as const satisfies Record<AiReadiness, string | null>;

/**
 * What holds for an organization.
 *
 * @param operator null: there is no gateway.
 * @param own what it has set itself.
 */
export function aiReadiness(operator: OperatorAi | null, own: OperatorAi): AiReadiness {
  if (operator === null) return 'no_gateway';
  const kinds = [...operator.kinds, ...own.kinds];
  if (kinds.length === 0) return 'no_provider';
  if (operator.auto.length === 0 && own.auto.length === 0 && !isMockAlone(kinds)) return 'no_auto';
  return kinds.every((kind) => kind === 'mock') ? 'mock' : 'ready';
}

/** The mock alone is asked where no model is named. */
export function isMockAlone(kinds: readonly string[]): boolean {
  return kinds.length === 1 && kinds[0] === 'mock';
}

/** As the supervisor hands it to the API. */
export function operatorAiText({ kinds, auto }: OperatorAi): string {
  return JSON.stringify({ kinds, auto });
}

/** Reads that; null where there is none. */
export function operatorAiFrom(text: string): OperatorAi | null {
  return text === '' ? null : (JSON.parse(text) as OperatorAi);
}
