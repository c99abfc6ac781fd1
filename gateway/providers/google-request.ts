// Converts a chat-completions request, or texts to embed, to Google's API. Pure.
import { isJson, isList, type ChatRequest, type Json } from '../contract/chat.ts';
import { wrong } from '../contract/request-body.ts';
import type { EmbeddingsRequest } from '../contract/wire.ts';
import {
  answerFormOf,
  functionToolOf,
  partsOf,
  stopsOf,
  textOf,
  toolCallsOf,
  toolChoiceOf,
  type Part,
} from './content.ts';

/** Google-specific fields, in `extra_body.google` as in Google's own compatible API. */
const OWN_FIELDS = [
  ['safety_settings', 'safetySettings'],
  ['cached_content', 'cachedContent'],
] as const;
const NUMBER_FIELDS = [
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['top_k', 'topK'],
  ['n', 'candidateCount'],
  ['seed', 'seed'],
  ['presence_penalty', 'presencePenalty'],
  ['frequency_penalty', 'frequencyPenalty'],
  ['top_logprobs', 'logprobs'],
] as const;
/** Models from Gemini 3 on accept a thinking level, older models a token budget. */
const TAKES_LEVEL = /^gemini-(?:[3-9]|[1-9][0-9])/;
const budgets: Readonly<Record<string, number>> = { none: 0, minimal: 1024, low: 1024, medium: 8192, high: 24_576 };
/** Google's documented placeholder for calls made by another model: it refuses calls without a signature. */
const NO_SIGNATURE = 'skip_thought_signature_validator';
const mediaTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  pdf: 'application/pdf',
  mp4: 'video/mp4',
};

interface Turn {
  readonly role: 'user' | 'model';
  readonly parts: Json[];
}

/** @param tokensMax maximum tokens if the request sets none. @throws {GatewayError} 400 */
export function generateRequest(model: string, request: ChatRequest, tokensMax: number | null): Json {
  const { system, turns } = turnsOf(request.messages, TAKES_LEVEL.test(model));
  const extra = isJson(request['extra_body']) ? request['extra_body'] : {};
  const google = isJson(extra['google']) ? extra['google'] : {};
  const own = OWN_FIELDS.flatMap(([from, to]) => (google[from] === undefined ? [] : [[to, google[from]]]));
  return {
    ...(Object.fromEntries(own) as Json),
    contents: turns,
    ...(system.length === 0 ? {} : { systemInstruction: { parts: system } }),
    ...toolsOf(request),
    generationConfig: generationOf(model, request, google, tokensMax),
  };
}

function turnsOf(messages: readonly Json[], isSigned: boolean): { system: Json[]; turns: Turn[] } {
  const system: Json[] = [];
  const turns: Turn[] = [];
  const names = new Map<string, string>();
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    const { role } = message;
    if (role === 'system' || role === 'developer') {
      system.push(...partsOf(message['content'], `${at}.content`).map(putPart));
      continue;
    }
    const parts =
      role === 'user'
        ? partsOf(message['content'], `${at}.content`).map(putPart)
        : role === 'assistant'
          ? saidParts(message, at, names, isSigned)
          : [answerPart(message, at, names)];
    if (parts.length === 0) continue;
    const as = role === 'assistant' ? 'model' : 'user';
    const last = turns.at(-1);
    if (last?.role === as) last.parts.push(...parts);
    else turns.push({ role: as, parts });
  }
  return { system, turns };
}

function saidParts(message: Json, at: string, names: Map<string, string>, isSigned: boolean): Json[] {
  const said = partsOf(message['content'], `${at}.content`).map(putPart);
  const signature = signatureOf(message);
  if (signature !== null && said.length > 0) said.push({ ...said.pop()!, thoughtSignature: signature });
  const calls = toolCallsOf(message, at).map(({ id, name, input, source }) => {
    names.set(id, name);
    const signed = signatureOf(source);
    return { functionCall: { id, name, args: input }, ...(signed === null ? {} : { thoughtSignature: signed }) };
  });
  const [first] = calls;
  if (isSigned && first !== undefined && calls.every((call) => !('thoughtSignature' in call)))
    calls[0] = { ...first, thoughtSignature: NO_SIGNATURE };
  return [...said, ...calls];
}

/** The thought signature of a message or a call, from the same field as in Google's own OpenAI-compatible API. */
function signatureOf({ extra_content: extra }: Json): string | null {
  const google = isJson(extra) && isJson(extra['google']) ? extra['google'] : {};
  const signature = google['thought_signature'];
  return typeof signature === 'string' ? signature : null;
}

function answerPart(message: Json, at: string, names: ReadonlyMap<string, string>): Json {
  const id = message['tool_call_id'];
  if (typeof id !== 'string') throw wrong(`${at}.tool_call_id`, 'the id of the tool call that this message answers');
  const name = names.get(id) ?? message['name'];
  if (typeof name !== 'string') throw wrong(`${at}.tool_call_id`, 'the id of a call in a message before it');
  return { functionResponse: { id, name, response: responseOf(textOf(message['content'], `${at}.content`)) } };
}

/** Converts the result of a tool to an object, which Google requires. */
function responseOf(text: string): Json {
  try {
    const value = JSON.parse(text) as unknown;
    return isJson(value) ? value : { result: value };
  } catch {
    return { result: text };
  }
}

function putPart(part: Part): Json {
  if (part.kind === 'own') return part.source;
  if (part.kind === 'text') return { text: part.text };
  if (part.kind === 'data') return { inlineData: { mimeType: part.mediaType, data: part.base64 } };
  const ending = /\.([a-z0-9]+)$/i.exec(new URL(part.url).pathname)?.[1]?.toLowerCase() ?? '';
  const mimeType = mediaTypes[ending];
  return { fileData: { fileUri: part.url, ...(mimeType === undefined ? {} : { mimeType }) } };
}

function toolsOf(request: ChatRequest): Json {
  if (!isList(request['tools']) || request['tools'].length === 0) return {};
  const own: Json[] = [];
  const functionDeclarations: Json[] = [];
  for (const [index, tool] of request['tools'].filter(isJson).entries()) {
    const known = functionToolOf(tool, `tools[${index}]`);
    if (known === null) own.push(tool);
    else
      functionDeclarations.push({
        name: known.name,
        ...(known.description === null ? {} : { description: known.description }),
        ...(known.parameters === null ? {} : { parametersJsonSchema: known.parameters }),
      });
  }
  const tools = [...(functionDeclarations.length === 0 ? [] : [{ functionDeclarations }]), ...own];
  const choice = toolChoiceOf(request['tool_choice']);
  if (choice === null) return { tools };
  const modes = { auto: 'AUTO', none: 'NONE', required: 'ANY', one: 'ANY' } as const;
  const names = choice.kind === 'one' ? { allowedFunctionNames: [choice.name] } : {};
  return { tools, toolConfig: { functionCallingConfig: { mode: modes[choice.kind], ...names } } };
}

function generationOf(model: string, request: ChatRequest, google: Json, tokensMax: number | null): Json {
  const numbers = NUMBER_FIELDS.flatMap(([from, to]) =>
    typeof request[from] === 'number' ? [[to, request[from]] as const] : [],
  );
  const most = request.max_completion_tokens ?? request.max_tokens ?? tokensMax;
  const stopSequences = stopsOf(request['stop']);
  const form = answerFormOf(request['response_format']);
  const thinking = thinkingOf(model, request['reasoning_effort'], google['thinking_config']);
  return {
    ...Object.fromEntries(numbers),
    ...(most === null ? {} : { maxOutputTokens: most }),
    ...(stopSequences === undefined ? {} : { stopSequences }),
    ...(request['logprobs'] === true ? { responseLogprobs: true } : {}),
    ...(form === 'text' ? {} : { responseMimeType: 'application/json' }),
    ...(typeof form === 'object' ? { responseJsonSchema: form.schema } : {}),
    ...(thinking === null ? {} : { thinkingConfig: thinking }),
  };
}

function thinkingOf(model: string, effort: unknown, given: unknown): Json | null {
  if (isJson(given)) {
    const { include_thoughts: includeThoughts, thinking_budget: thinkingBudget, thinking_level: thinkingLevel } = given;
    return { includeThoughts, thinkingBudget, thinkingLevel };
  }
  if (typeof effort !== 'string' || !Object.hasOwn(budgets, effort)) return null;
  const includeThoughts = effort !== 'none';
  if (!TAKES_LEVEL.test(model)) return { thinkingBudget: budgets[effort], includeThoughts };
  return { thinkingLevel: effort === 'none' ? 'minimal' : effort, includeThoughts };
}

/** @throws {GatewayError} 400 */
export function embedRequest(model: string, request: EmbeddingsRequest): Json {
  const inputs = isList(request['input']) ? request['input'] : [request['input']];
  const { dimensions } = request;
  return {
    requests: inputs.map((text) => {
      if (typeof text !== 'string') throw wrong('input', 'a text or a list of texts for this provider');
      return {
        model: `models/${model}`,
        content: { parts: [{ text }] },
        ...(typeof dimensions === 'number' ? { outputDimensionality: dimensions } : {}),
      };
    }),
  };
}
