// Finds the answer to a message for a client that polls instead of receiving it. Called by agent-tools.ts.
import { reveal } from '../../secrets.ts';
import type { Workspace } from '../../workspace-types.ts';

/** State of a message. */
type Answer =
  | { readonly is: 'said'; readonly text: string; readonly isError: boolean }
  | { readonly is: 'waiting'; readonly approval: string | null }
  | { readonly is: 'unknown' };

/** Searches the history after the message, up to the next message. */
export function answerTo(messageId: string, workspace: Workspace | null): Answer {
  if (workspace === null) return { is: 'unknown' };
  const { messages, queue, memory, approvals, activeRunId } = workspace;
  if (queue.some(({ id }) => id === messageId)) return { is: 'waiting', approval: null };
  const at = messages.findIndex((message) => message.role === 'user' && message.id === messageId);
  if (at === -1) return { is: 'unknown' };
  for (const message of messages.slice(at + 1)) {
    // The next message began before this message was answered, so the run of this message was cancelled.
    if (message.role === 'user') return { is: 'unknown' };
    if (message.role === 'assistant' && message.tool_calls === undefined)
      return { is: 'said', text: reveal(message.content ?? '', memory), isError: message.isError === true };
  }
  if (activeRunId === null) return { is: 'unknown' };
  return { is: 'waiting', approval: approvals[0]?.tool ?? null };
}
