// Adds missing `index` fields to streamed tool calls. Some servers omit these fields, but clients need them to assemble
// the pieces. The index is derived from the rest of the call. Called by openai.ts.
import { isJson, isList, type Json } from '../contract/chat.ts';

/** The tool calls of one answer so far. */
interface Calls {
  readonly byId: Map<string, number>;
  /** The next free index. */
  next: number;
  /** The tool call that was continued last. */
  last: number;
}

/**
 * Creates the state of one stream. @returns a function that completes a chunk: the same object if nothing is missing.
 */
export function createCallIndexes(): (chunk: Json) => Json {
  const answers = new Map<unknown, Calls>();
  return (chunk) => {
    const choices = isList(chunk['choices']) ? chunk['choices'] : [];
    let isChanged = false;
    const completed = choices.map((choice) => {
      if (!isJson(choice) || !isJson(choice['delta']) || !isList(choice['delta']['tool_calls'])) return choice;
      const { delta, index } = choice;
      const calls = answers.get(index) ?? { byId: new Map<string, number>(), next: 0, last: -1 };
      answers.set(index, calls);
      const pieces = (delta['tool_calls'] as readonly unknown[]).map((piece) => {
        if (!isJson(piece)) return piece;
        const given = piece['index'];
        const at = typeof given === 'number' ? given : placeOf(piece, calls);
        note(piece, at, calls);
        if (at === given) return piece;
        isChanged = true;
        return { ...piece, index: at };
      });
      return { ...choice, delta: { ...delta, tool_calls: pieces } };
    });
    return isChanged ? { ...chunk, choices: completed } : chunk;
  };
}

/** The call with this id; a new call if there is an id or a name; otherwise the last call. */
function placeOf(piece: Json, { byId, next, last }: Calls): number {
  const { id } = piece;
  if (typeof id === 'string' && id !== '') return byId.get(id) ?? next;
  const called = isJson(piece['function']) ? piece['function'] : {};
  const isNamed = typeof called['name'] === 'string' && called['name'] !== '';
  return isNamed || last === -1 ? next : last;
}

function note({ id }: Json, at: number, calls: Calls): void {
  calls.last = at;
  calls.next = Math.max(calls.next, at + 1);
  if (typeof id === 'string' && id !== '') calls.byId.set(id, at);
}
