// Refusals of the sandbox service and the agents in sandboxes, read by their clients. Pure.
import { isErrorCode, PlatformError } from '../errors.ts';

/** Limit of a refusal's body; longer bodies are not parsed. */
export const REFUSAL_BYTES_MAX = 64 * 1024;
const MESSAGE_CHARS_MAX = 4000;

/** The error in `{"error": {"code", "message"}}`; null if its code is unknown. */
export function refusalIn(text: string): PlatformError | null {
  let said: { readonly code?: unknown; readonly message?: unknown };
  try {
    said = (JSON.parse(text) as { error?: object } | null)?.error ?? {};
  } catch {
    return null;
  }
  if (!isErrorCode(said.code)) return null;
  const refusal = new PlatformError(said.code);
  if (typeof said.message !== 'string') return null;
  refusal.message = said.message.slice(0, MESSAGE_CHARS_MAX);
  return refusal;
}
