// Errors of sandboxes, as workers see them: errors of the service, or of the connection to it.

/** Reason for a failed call. */
export class SandboxError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
Object.defineProperty(SandboxError.prototype, 'name', { value: 'SandboxError', configurable: true, writable: true });

export const LOST = 'The sandbox was lost during the call';

/** Rewords a failure that happened outside the sandbox service. */
export function toSandboxError(error: unknown, code: string, message: string): unknown {
  const said = error as { code?: unknown; message?: unknown } | null;
  if (said?.code === 'fetch_failed') return new SandboxError(code, message);
  return typeof said?.code === 'string' && /^(?:sandbox_|invalid_argument)/.test(said.code)
    ? new SandboxError(said.code, String(said.message))
    : error;
}
