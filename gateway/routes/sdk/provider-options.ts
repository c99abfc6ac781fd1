// Converts AI SDK `providerOptions` to fields of a chat-completions request: options for the gateway, and options for
// the called provider, by its kind and by its name.
import { isJson, isList, type Json } from '../../contract/chat.ts';
import type { ModelTable, ProviderConfig } from '../../contract/contract.ts';
import { wrong } from '../../contract/request-body.ts';
import type { Warning } from './sdk-call.ts';

/** Fields whose keys are chosen by the user. */
const verbatim = new Set(['metadata', 'logit_bias']);
/** The SDK's names for chat-completions fields. */
const names: Readonly<Record<string, string>> = { text_verbosity: 'verbosity', effort: 'reasoning_effort' };
/** Options that are not passed on, because they are for the SDK itself or for the response format (chat-request.ts). */
const notFields = new Set(['strict_json_schema', 'structured_outputs', 'structured_output_mode', 'send_reasoning']);
const gatewayOptions = new Set(['models', 'user']);

/** The provider of the first candidate model; null if the model's name resolves to no provider, or to several. */
export function providerOf(table: ModelTable, model: string): ProviderConfig | null {
  const full = Object.hasOwn(table.aliases, model) ? table.aliases[model]! : model;
  const name = full.slice(0, Math.max(0, full.indexOf('/')));
  return table.providers.find((one) => one.name === name) ?? null;
}

/** Keys of `providerOptions` that apply; the most specific is last. */
export function optionNames(provider: ProviderConfig | null): readonly string[] {
  return provider === null ? ['openaiCompatible'] : ['openaiCompatible', provider.kind, provider.name];
}

/** Fields for the provider, and whether the response must match its schema. @throws {GatewayError} 400 */
export function providerFields(
  given: unknown,
  provider: ProviderConfig | null,
): { readonly fields: Json; readonly isStrict: boolean } {
  if (given === undefined || given === null) return { fields: {}, isStrict: true };
  if (!isJson(given)) throw wrong('providerOptions', 'an object');
  const fields: Record<string, unknown> = {};
  let isStrict = true;
  for (const name of optionNames(provider)) {
    const options = given[name];
    if (options === undefined || name === 'gateway') continue;
    if (!isJson(options)) throw wrong(`providerOptions.${name}`, 'an object');
    if (typeof options['strictJsonSchema'] === 'boolean') isStrict = options['strictJsonSchema'];
    const own = ownFields(options);
    // Google's compatible API expects its own fields in `extra_body.google`, and so does our adapter for Google.
    if (name !== 'google') Object.assign(fields, own);
    else if (Object.keys(own).length > 0) fields['extra_body'] = { google: own };
  }
  return { fields, isStrict };
}

function ownFields(options: Json): Json {
  const fields = Object.entries(options).map(([key, value]): [string, unknown] => {
    const name = snake(key);
    return [names[name] ?? name, verbatim.has(name) ? value : snakeKeys(value)];
  });
  return Object.fromEntries(fields.filter(([name]) => !notFields.has(name)));
}

/**
 * Converts the gateway options for fallback models and the user; other options are reported as unsupported. @throws
 * {GatewayError} 400
 */
export function gatewayFields(given: unknown): { readonly fields: Json; readonly warnings: readonly Warning[] } {
  const options = isJson(given) ? given['gateway'] : undefined;
  if (options === undefined || options === null) return { fields: {}, warnings: [] };
  if (!isJson(options)) throw wrong('providerOptions.gateway', 'an object');
  const { models, user } = options;
  if (models !== undefined && !(isList(models) && models.every((model) => typeof model === 'string')))
    throw wrong('providerOptions.gateway.models', 'a list of names of models');
  if (user !== undefined && typeof user !== 'string') throw wrong('providerOptions.gateway.user', 'a text');
  const warnings = Object.keys(options)
    .filter((name) => !gatewayOptions.has(name))
    .map((name): Warning => ({ kind: 'other', message: `providerOptions.gateway.${name} has no effect here` }));
  return { fields: { ...(models === undefined ? {} : { models }), ...(user === undefined ? {} : { user }) }, warnings };
}

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function snakeKeys(value: unknown): unknown {
  if (isList(value)) return value.map(snakeKeys);
  if (!isJson(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [snake(key), snakeKeys(one)]));
}
