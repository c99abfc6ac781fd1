// Reads a model's answer from server-sent events. A stream that ends early, or with an error frame, is an error: half
// an answer never counts as complete. Called by model.ts.
import { eventsOf } from './sse.ts';

/** Result of a stream, in the shape of a non-streamed answer. */
export interface StreamedMessage {
  content: string | null;
  tool_calls: Record<string, unknown>[];
  model: string | undefined;
}

interface ToolCallPiece {
  index?: number | null;
  id?: string;
  function?: { name?: string; arguments?: string };
}

interface Delta {
  content?: string | null;
  tool_calls?: ToolCallPiece[];
}

interface Chunk {
  model?: string;
  error?: { message?: string };
  choices?: { delta?: Delta; finish_reason?: string | null }[];
}

const ANSWER_CHARS_MAX = 1_000_000;

/** Reads a stream to its end. `onText` is called with each piece of text, and awaited. */
export async function readAnswer(
  stream: ReadableStream<Uint8Array>,
  onText: (piece: string) => void | Promise<void>,
): Promise<StreamedMessage> {
  const message: StreamedMessage = { content: null, tool_calls: [], model: undefined };
  let finished = false;
  let chars = 0;
  for await (const text of eventsOf(stream, ANSWER_CHARS_MAX)) {
    if (text === '[DONE]') break;
    if ((chars += text.length) > ANSWER_CHARS_MAX) throw new Error('The answer of the model is too long');
    let chunk: Chunk;
    try {
      chunk = JSON.parse(text) as Chunk;
    } catch {
      throw new Error('The stream of the model contains invalid JSON');
    }
    if (chunk.error !== undefined) throw new Error(chunk.error.message ?? 'The model failed');
    message.model ??= chunk.model;
    const [choice] = chunk.choices ?? [];
    if (choice === undefined) continue;
    finished ||= typeof choice.finish_reason === 'string';
    const { content, tool_calls: calls = [] } = choice.delta ?? {};
    if (typeof content === 'string' && content !== '') {
      message.content = (message.content ?? '') + content;
      await onText(content);
    }
    for (const call of calls) addCall(message.tool_calls, call);
  }
  if (!finished) throw new Error('The stream of the model ended before the answer did');
  message.tool_calls = message.tool_calls.filter((call) => call !== undefined);
  return message;
}

/**
 * Index for a piece that has no index: a call known by its id, a new call if the piece has an id or a name, else the
 * last call.
 */
function placeOf(calls: readonly Record<string, unknown>[], { id, function: called }: Partial<ToolCallPiece>): number {
  const known = id ? calls.findIndex((call) => call?.['id'] === id) : -1;
  if (known !== -1) return known;
  return id || called?.name || calls.length === 0 ? calls.length : calls.length - 1;
}

/** Calls arrive in pieces: pieces with the same index belong together, and the text of the arguments is appended. */
function addCall(calls: Record<string, unknown>[], piece: ToolCallPiece): void {
  const at = piece.index ?? placeOf(calls, piece);
  if (!Number.isInteger(at) || at < 0 || at > 1000)
    throw new Error('The stream of the model numbers its calls incorrectly');
  const { index: _, function: given, ...rest } = piece;
  const before = calls[at];
  if (before === undefined) {
    calls[at] = { ...rest, function: { ...given, arguments: given?.arguments ?? '' } };
    return;
  }
  const known = before['function'] as { name?: string; arguments: string };
  Object.assign(before, rest);
  if (given?.name !== undefined) known.name = given.name;
  known.arguments += given?.arguments ?? '';
}
