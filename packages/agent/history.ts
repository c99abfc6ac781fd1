// The history of a conversation: where it may be cut, and its approximate length. Tool messages stay together with
// their calls, because providers refuse one without the other.
import type { ChatMessage } from './workspace-types.ts';

/** Number of messages kept if compression is off. */
const HISTORY_MAX = 50;

const CHARS_PER_TOKEN = 4;

/** The last messages, at most `max`, starting with a message of the user. A longer last turn is kept completely. */
export function capHistory(messages: readonly ChatMessage[], max: number = HISTORY_MAX): ChatMessage[] {
  if (messages.length <= max) return [...messages];
  return messages.slice(turnBorder(messages, messages.length - max));
}

/** The first message of the user at or after an index; if there is none, the last message before it. */
export function turnBorder(messages: readonly ChatMessage[], from: number): number {
  for (let at = Math.max(from, 0); at < messages.length; at++) if (messages[at]!.role === 'user') return at;
  for (let at = Math.min(from, messages.length) - 1; at >= 0; at--) if (messages[at]!.role === 'user') return at;
  return 0;
}

/** Approximate number of tokens. */
export function estimateTokens(value: unknown): number {
  return Math.ceil((typeof value === 'string' ? value : JSON.stringify(value)).length / CHARS_PER_TOKEN);
}
