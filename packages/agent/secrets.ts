// Keeps values of secret memories out of everything stored or shown: histories, steps of runs, debug views. Values are
// replaced by `[SECRET:<key>]`, which is resolved only for the model during the run and for the called tool.
import type { MemoryEntry, Workspace } from './workspace-types.ts';

/** Placeholder in prompts, and for a value that has no key yet. */
export const SECRET = '[SECRET]';

/** Shorter values are too common to be found in a text. */
const LENGTH_LEAST = 4;

type Memory = Readonly<Record<string, MemoryEntry>>;

/** Placeholder for the value of a key. */
export function placeholder(key: string): string {
  return `[SECRET:${key}]`;
}

/** Replaces secret values in a text. */
export function conceal(text: string, memory: Memory): string {
  let result = text;
  const secrets = Object.entries(memory).filter(([, entry]) => entry.secret && entry.value.length >= LENGTH_LEAST);
  // The longest secret comes first, because one secret may be part of another.
  for (const [key, { value }] of secrets.sort(([, a], [, b]) => b.value.length - a.value.length)) {
    result = result.replaceAll(value, placeholder(key));
    const escaped = JSON.stringify(value).slice(1, -1);
    if (escaped !== value) result = result.replaceAll(escaped, placeholder(key));
  }
  return result;
}

/** Removes secret values from an error and its causes. @returns the same error. */
export function concealError(error: unknown, memory: Memory): unknown {
  // Causes may form cycles.
  const seen = new Set<unknown>();
  for (let at = error; at instanceof Error && !seen.has(at); at = at.cause) {
    seen.add(at);
    const { message, stack } = at;
    at.message = conceal(message, memory);
    if (stack !== undefined) at.stack = conceal(stack, memory);
  }
  return error;
}

/** Restores the values in a text. */
export function reveal(text: string, memory: Memory): string {
  return text.replace(/\[SECRET:([^[\]]{1,128})\]/g, (whole, key: string) =>
    Object.hasOwn(memory, key) && memory[key]!.secret ? memory[key]!.value : whole,
  );
}

/** Restores the values in every text of a JSON value. */
export function revealAll(value: unknown, memory: Memory): unknown {
  if (typeof value === 'string') return reveal(value, memory);
  if (Array.isArray(value)) return value.map((inner) => revealAll(inner, memory));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, revealAll(inner, memory)]));
}

/** Restores the values in JSON text; a text that is not JSON is returned unchanged. */
export function revealJson(text: string, memory: Memory): string {
  if (!text.includes('[SECRET:')) return text;
  try {
    return JSON.stringify(revealAll(JSON.parse(text), memory));
  } catch {
    return text;
  }
}

/**
 * Removes secrets from everything a workspace has stored so far: a value may have been used before it became a
 * secret.
 */
export function sweep(workspace: Workspace): void {
  const { memory } = workspace;
  for (const message of workspace.messages) {
    if (message.content !== null) message.content = conceal(message.content, memory);
    if (message.role !== 'assistant') continue;
    for (const call of message.tool_calls ?? []) call.function.arguments = conceal(call.function.arguments, memory);
  }
  for (const message of workspace.queue) message.text = conceal(message.text, memory);
  if (workspace.conversationSummary !== null)
    workspace.conversationSummary = conceal(workspace.conversationSummary, memory);
}

/** A workspace with secrets masked. */
export function masked(workspace: Workspace): Workspace {
  const { pendingSecrets: _, ...rest } = workspace;
  const memory = Object.fromEntries(
    Object.entries(workspace.memory).map(([key, entry]) => [key, entry.secret ? { ...entry, value: SECRET } : entry]),
  );
  const mcpServers = workspace.mcpServers.map(({ sessionId: _id, headers, ...server }) =>
    headers === undefined
      ? server
      : { ...server, headers: Object.fromEntries(Object.keys(headers).map((name) => [name, SECRET])) },
  );
  return { ...rest, memory, mcpServers };
}
