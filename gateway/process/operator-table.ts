// Converts the operator's providers to the gateway's table. Pure.
import type { AiSettings } from '#core/ai-settings.ts';
import type { ModelTable } from '../contract/contract.ts';
import { mockModels } from '../providers/mock.ts';

/** Only the operator's providers may have private addresses. */
export function operatorTable({ providers, aliases, auto }: AiSettings): ModelTable {
  return {
    providers: providers.map((provider) => ({
      ...provider,
      isPrivate: true,
      models: provider.kind === 'mock' && provider.models.length === 0 ? mockModels : provider.models,
    })),
    aliases,
    auto,
  };
}
