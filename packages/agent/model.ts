// One model call: builds the request from the workspace, validates and normalizes the answer, and sends partial answers
// in the meantime. Called by run/model-step.ts.
import type { Ai, AiMessage } from '@platform-run/types';
import type { RunPartial, StreamingOptions } from './config-types.ts';
import { reveal, revealJson, SECRET } from './secrets.ts';
import { readAnswer } from './stream.ts';
import type { AssistantMessage, ChatMessage, ToolCall, Workspace } from './workspace-types.ts';

/** Description of a tool for the model. */
interface ToolDescription {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** One answer. */
interface Answer {
  readonly content: string | null;
  readonly calls: ToolCall[];
  readonly model: string | undefined;
  /** Additional fields of the provider, to be sent back to it. */
  readonly extra: Readonly<Record<string, unknown>>;
}

const ANSWER_BYTES_MAX = 800_000;

/** The system prompt for a user: the author's, the memories, the summary. */
export function systemText(prompt: string, { memory, conversationSummary }: Workspace): string {
  const memories = Object.entries(memory).map(([key, { value, secret }]) => `- ${key}: ${secret ? SECRET : value}`);
  return [
    prompt,
    ...(memories.length === 0 ? [] : [`What you remember about the user:\n${memories.join('\n')}`]),
    ...(conversationSummary === null ? [] : [`Summary of the conversation so far:\n${conversationSummary}`]),
  ].join('\n\n');
}

/** The history for the model. Secrets of the current run are included unmasked. */
export function promptMessages(messages: readonly ChatMessage[], workspace: Workspace, runId: string): AiMessage[] {
  const { memory } = workspace;
  return messages.map((message) => {
    if (message.role === 'user') return { role: 'user', content: message.content };
    const own = message.runId === runId;
    if (message.role === 'tool') {
      const { content, tool_call_id } = message;
      return { role: 'tool', content: own ? reveal(content, memory) : content, tool_call_id };
    }
    const { timestamp: _t, model: _m, isError: _e, runId: _r, step: _s, tool_calls: calls, ...rest } = message;
    if (calls === undefined) return rest as AiMessage;
    const shown = own
      ? calls.map((call) => ({
          ...call,
          function: { ...call.function, arguments: revealJson(call.function.arguments, memory) },
        }))
      : calls;
    return { ...rest, tool_calls: shown } as AiMessage;
  });
}

/** Calls the model. @throws an error named `NonRetryableError` if a retry cannot help. */
export async function askModel(
  ai: Ai,
  model: string,
  request: { messages: AiMessage[]; tools: readonly ToolDescription[] },
  key: { runId: string; step: number },
  streaming: StreamingOptions | undefined,
  onPartial: (partial: RunPartial) => Promise<void>,
): Promise<Answer> {
  const tools = request.tools.map((described) => ({ type: 'function' as const, function: { ...described } }));
  const inputs = { messages: request.messages, ...(tools.length > 0 && { tools }) };
  try {
    if (streaming?.enabled !== true) {
      const response = await ai.run(model, inputs);
      const message = response.choices?.[0]?.message as Record<string, unknown> | undefined;
      return toAnswer(message, response.model, key);
    }
    const partials = createPartials(`${key.runId}:${key.step}`, key.step, streaming, onPartial);
    const read = await readAnswer(await ai.run(model, { ...inputs, stream: true }), (piece) => partials.add(piece));
    await partials.finish();
    return toAnswer({ ...read, model: undefined }, read.model, key);
  } catch (error) {
    throw isFinal(error) ? nonRetryable(error as Error) : error;
  }
}

/** Statuses after which the same request would fail again. */
function isFinal(error: unknown): boolean {
  const { status } = (error ?? {}) as { status?: unknown };
  return typeof status === 'number' && status >= 400 && status < 500 && ![408, 409, 429].includes(status);
}

/** Wraps an error to mark it as not retryable. */
function nonRetryable(error: { message: string }): Error {
  const made = new Error(error.message, { cause: error });
  made.name = 'NonRetryableError';
  return made;
}

function toAnswer(
  message: Record<string, unknown> | undefined,
  model: string | undefined,
  { runId, step }: { runId: string; step: number },
): Answer {
  if (typeof message !== 'object' || message === null) throw new Error('The model gave no answer');
  const { role: _role, content, tool_calls: given, model: _model, ...extra } = message;
  const calls = (Array.isArray(given) ? given : []).flatMap((call: unknown, at) => {
    const { id, function: called, ...rest } = (call ?? {}) as Record<string, unknown>;
    const { name, arguments: args, ...others } = (called ?? {}) as Record<string, unknown>;
    if (typeof name !== 'string') return [];
    const text = typeof args === 'string' ? args : JSON.stringify(args ?? {});
    return [
      {
        ...rest,
        id: typeof id === 'string' && id !== '' ? id : `call_${runId}_${step}_${at}`,
        type: 'function' as const,
        function: { ...others, name, arguments: text },
      },
    ];
  });
  const answer: Answer = { content: typeof content === 'string' ? content : null, calls, model, extra };
  const { length } = new TextEncoder().encode(JSON.stringify(answer));
  if (length > ANSWER_BYTES_MAX)
    throw nonRetryable({ message: `The answer of the model has ${length} bytes, and may have ${ANSWER_BYTES_MAX}` });
  return answer;
}

/** An answer as stored in the history. */
export function toMessage({ content, calls, model, extra }: Answer, runId: string, step: number): AssistantMessage {
  return {
    ...extra,
    role: 'assistant',
    content,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(model !== undefined && { model }),
    timestamp: Date.now(),
    runId,
    step,
  };
}

function createPartials(
  key: string,
  step: number,
  { throttleMs = 250, minCharsDelta = 1, maxPartialLength = 100_000 }: StreamingOptions,
  emit: (partial: RunPartial) => Promise<void>,
): { add(piece: string): Promise<void>; finish(): Promise<void> } {
  let text = '';
  let delta = '';
  // The first partial answer is sent immediately.
  let last = 0;
  const flush = async (isFinal: boolean): Promise<void> => {
    const partial: RunPartial = { key, text: text.slice(0, maxPartialLength), delta, step, isFinal };
    delta = '';
    await emit(partial);
    last = Date.now();
  };
  return {
    async add(piece) {
      text += piece;
      delta += piece;
      if (delta.length >= minCharsDelta && Date.now() - last >= throttleMs) await flush(false);
    },
    async finish() {
      if (text !== '') await flush(true);
    },
  };
}
