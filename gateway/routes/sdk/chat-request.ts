// Converts AI SDK call options to a chat-completions request, with warnings for unsupported options.
import { isJson, isList, type Json } from '../../contract/chat.ts';
import type { ProviderConfig } from '../../contract/contract.ts';
import { wrong } from '../../contract/request-body.ts';
import { messagesOf } from './prompt.ts';
import { gatewayFields, optionNames, providerFields } from './provider-options.ts';
import type { Warning } from './sdk-call.ts';

/** Settings with another name in chat completions; null and undefined count as absent. */
const SETTINGS = [
  ['maxOutputTokens', 'max_tokens'],
  ['temperature', 'temperature'],
  ['topP', 'top_p'],
  ['topK', 'top_k'],
  ['presencePenalty', 'presence_penalty'],
  ['frequencyPenalty', 'frequency_penalty'],
  ['stopSequences', 'stop'],
  ['seed', 'seed'],
] as const;

/** A request, with warnings for the SDK. */
interface Translated {
  readonly request: Json;
  readonly warnings: readonly Warning[];
}

/** @param provider provider of the model; null if there is not exactly one. @throws {GatewayError} 400 */
export function chatRequestOf(
  options: Json,
  {
    model,
    isStream,
    provider,
  }: { readonly model: string; readonly isStream: boolean; readonly provider: ProviderConfig | null },
): Translated {
  const own = providerFields(options['providerOptions'], provider);
  const gateway = gatewayFields(options['providerOptions']);
  const tools = toolsOf(options);
  const warnings: Warning[] = [...tools.warnings, ...gateway.warnings];
  const fields = SETTINGS.flatMap(([from, to]): [string, unknown][] => {
    const value = options[from];
    if (value === undefined || value === null || (isList(value) && value.length === 0)) return [];
    // OpenAI refuses unknown fields.
    if (to === 'top_k' && provider?.kind === 'openai') {
      warnings.push({
        kind: 'setting',
        name: from,
        details: 'Put top_k into providerOptions for a server that supports it',
      });
      return [];
    }
    return [[to, value]];
  });
  const { reasoning } = options;
  return {
    request: {
      ...Object.fromEntries(fields),
      ...(typeof reasoning === 'string' && reasoning !== 'provider-default' ? { reasoning_effort: reasoning } : {}),
      ...formatOf(options['responseFormat'], own.isStrict),
      ...tools.fields,
      ...own.fields,
      ...gateway.fields,
      model,
      messages: messagesOf(options['prompt'], optionNames(provider)),
      ...(isStream ? { stream: true, stream_options: { include_usage: true } } : { stream: false }),
    },
    warnings,
  };
}

function formatOf(format: unknown, strict: boolean): Json {
  if (format === undefined || format === null) return {};
  if (!isJson(format)) throw wrong('responseFormat', 'an object');
  if (format['type'] !== 'json') return {};
  const { schema, name, description } = format;
  if (schema === undefined || schema === null) return { response_format: { type: 'json_object' } };
  const described = description === undefined ? {} : { description };
  return {
    response_format: { type: 'json_schema', json_schema: { name: name ?? 'response', ...described, schema, strict } },
  };
}

function toolsOf({ tools, toolChoice }: Json): { readonly fields: Json; readonly warnings: readonly Warning[] } {
  if (tools === undefined || tools === null) return { fields: {}, warnings: [] };
  if (!isList(tools)) throw wrong('tools', 'a list of objects');
  const warnings: Warning[] = [];
  const known = tools.flatMap((tool, index) => {
    if (!isJson(tool)) throw wrong(`tools[${index}]`, 'an object');
    if (tool['type'] === 'function') return [functionTool(tool, `tools[${index}]`)];
    warnings.push({ kind: 'tool', tool });
    return [];
  });
  if (known.length === 0) return { fields: {}, warnings };
  return { fields: { tools: known, ...choiceOf(toolChoice) }, warnings };
}

function functionTool({ name, description, inputSchema, strict, providerOptions }: Json, at: string): Json {
  if (typeof name !== 'string') throw wrong(`${at}.name`, 'a text');
  const anthropic = isJson(providerOptions) && isJson(providerOptions['anthropic']) ? providerOptions['anthropic'] : {};
  return {
    type: 'function',
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      ...(inputSchema === undefined ? {} : { parameters: inputSchema }),
      ...(strict === undefined ? {} : { strict }),
    },
    ...(anthropic['cacheControl'] === undefined ? {} : { cache_control: anthropic['cacheControl'] }),
  };
}

function choiceOf(choice: unknown): Json {
  if (choice === undefined || choice === null) return {};
  const { type, toolName } = isJson(choice) ? choice : {};
  if (type === 'auto' || type === 'none' || type === 'required') return { tool_choice: type };
  if (type === 'tool' && typeof toolName === 'string')
    return { tool_choice: { type: 'function', function: { name: toolName } } };
  throw wrong('toolChoice', 'an object with the type auto, none, required or tool');
}
