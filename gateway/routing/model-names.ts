// Resolves the models of a call: `provider/model`, an alias, or `auto`. Pure.
import { aiAdvice } from '#core/ai-readiness.ts';
import type { ModelTable } from '../contract/contract.ts';
import { GatewayError } from '../contract/errors.ts';
import { nameOf, type Target } from '../contract/wire.ts';

const AUTO = 'auto';

/** Model names are untrusted input. */
export const headerText = (name: string): string =>
  /^[\x20-\x7e]*$/.test(name) ? name : encodeURI(name.toWellFormed());

/** Candidate models in order, without duplicates. @throws {GatewayError} 404, 503 */
export function targetsOf(table: ModelTable, names: readonly string[], most: number): Target[] {
  if (table.providers.length === 0) throw new GatewayError('provider_not_configured', aiAdvice.no_provider);
  const wanted = names.flatMap((name) => (name === AUTO ? autoOf(table) : [name]));
  const byName = new Map(wanted.map((name) => targetOf(table, name)).map((target) => [nameOf(target), target]));
  return [...byName.values()].slice(0, most);
}

/** Names listed by `/models`, with their providers. */
export function namesOf(table: ModelTable): { readonly id: string; readonly owner: string }[] {
  const own = table.providers.flatMap(({ name, models }) =>
    models.map((model) => ({ id: `${name}/${model}`, owner: name })),
  );
  const aliases = Object.entries(table.aliases).map(([id, model]) => ({ id, owner: model.split('/')[0]! }));
  return [...(table.auto.length > 0 ? [{ id: AUTO, owner: 'platform' }] : []), ...aliases, ...own];
}

function autoOf({ auto }: ModelTable): readonly string[] {
  if (auto.length > 0) return auto;
  throw new GatewayError('provider_not_configured', aiAdvice.no_auto);
}

function targetOf(table: ModelTable, name: string): Target {
  const full = Object.hasOwn(table.aliases, name) ? table.aliases[name]! : name;
  const slash = full.indexOf('/');
  const provider = table.providers.find((one) => one.name === full.slice(0, slash));
  const model = full.slice(slash + 1);
  if (slash > 0 && provider !== undefined && model !== '') return { provider, model };
  const shown = JSON.stringify(name.slice(0, 100));
  const known = table.providers.map((one) => one.name).join(', ');
  throw new GatewayError('model_not_found', `The model ${shown} does not exist: providers are ${known}`, {
    param: 'model',
  });
}
