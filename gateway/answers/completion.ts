// Assembles a complete response from stream chunks, and splits a complete response into chunks. Pure.
import { isJson, isList, type Json } from '../contract/chat.ts';
import { DONE_FRAME, frame } from '../streams/sse-writer.ts';

/** Delta fields whose pieces are concatenated. */
const TEXTS = ['content', 'reasoning_content', 'reasoning', 'refusal'];

interface Choice {
  message: Record<string, unknown>;
  calls: Map<unknown, Json>;
  finish: unknown;
  logprobs: unknown;
}

/** Assembles chunks. */
export function createCompletionReader(): { take(chunk: Json): void; completion(): Json } {
  const choices = new Map<unknown, Choice>();
  let head: Json = {};
  let usage: unknown;
  return {
    take(chunk) {
      const { choices: list, usage: told, object, ...rest } = chunk;
      void object;
      head = { ...head, ...rest };
      usage = told ?? usage;
      for (const choice of isList(list) ? list.filter(isJson) : []) grow(choices, choice);
    },
    completion: () => ({
      ...head,
      object: 'chat.completion',
      choices: [...choices].map(([index, { message, calls, finish, logprobs }]) => ({
        index,
        message: {
          role: 'assistant',
          content: null,
          ...message,
          ...(calls.size === 0 ? {} : { tool_calls: [...calls.values()] }),
        },
        logprobs: logprobs ?? null,
        finish_reason: finish,
      })),
      ...(isJson(usage) ? { usage } : {}),
    }),
  };
}

function grow(choices: Map<unknown, Choice>, { index, delta, finish_reason: finish, logprobs }: Json): void {
  const choice: Choice = choices.get(index) ?? { message: {}, calls: new Map(), finish: null, logprobs: null };
  choices.set(index, choice);
  choice.finish = finish ?? choice.finish;
  choice.logprobs = merged(choice.logprobs, logprobs);
  if (!isJson(delta)) return;
  const { tool_calls: calls, ...rest } = delta;
  for (const [name, value] of Object.entries(rest)) {
    const before = choice.message[name];
    if (value === null || value === undefined) continue;
    const isText = TEXTS.includes(name) && typeof before === 'string';
    choice.message[name] = isText ? before + String(value) : merged(before, value);
  }
  for (const call of isList(calls) ? calls.filter(isJson) : []) {
    const { index: nth, ...more } = call;
    const before = choice.calls.get(nth) ?? {};
    const called = {
      ...(isJson(before['function']) ? before['function'] : {}),
      ...(isJson(more['function']) ? more['function'] : {}),
    };
    const input = [before, more].map((one) => (isJson(one['function']) ? (one['function']['arguments'] ?? '') : ''));
    choice.calls.set(nth, { ...before, ...more, function: { ...called, arguments: input.join('') } });
  }
}

/** Concatenates lists. */
function merged(before: unknown, value: unknown): unknown {
  if (isList(before) && isList(value)) return [...before, ...value];
  if (isJson(before) && isJson(value))
    return { ...before, ...Object.fromEntries(Object.entries(value).map(([k, v]) => [k, merged(before[k], v)])) };
  return value ?? before;
}

/** The chunks of a completion: the content in one chunk, the finish reason in another. */
export function framesOfCompletion(completion: Json, showsUsage: boolean): string {
  const { choices, usage, ...rest } = completion;
  const head = { ...rest, object: 'chat.completion.chunk' };
  const chunk = (list: readonly Json[], more: Json = {}): string =>
    frame(JSON.stringify({ ...head, choices: list, ...more }));
  const frames = (isList(choices) ? choices.filter(isJson) : []).map(({ index, message, finish_reason, logprobs }) => {
    const { tool_calls: calls, ...said } = isJson(message) ? message : {};
    const numbered = isList(calls) ? calls.filter(isJson).map((call, nth) => ({ index: nth, ...call })) : [];
    const delta = { ...said, ...(numbered.length === 0 ? {} : { tool_calls: numbered }) };
    return chunk([{ index, delta, logprobs, finish_reason: null }]) + chunk([{ index, delta: {}, finish_reason }]);
  });
  return frames.join('') + (showsUsage && isJson(usage) ? chunk([], { usage }) : '') + DONE_FRAME;
}
