// Errors of workflow steps, as stored and as thrown again.

/** A stored error. */
export interface Failure {
  readonly name: string;
  readonly message: string;
}

const nonRetryable = Symbol.for('platform.nonRetryable');

/** The name, message and code of a thrown value. */
export function toFailure(error: unknown): Failure & { readonly code: unknown } {
  const { name, message, code } = (error ?? {}) as { name?: unknown; message?: unknown; code?: unknown };
  return { name: typeof name === 'string' ? name : 'Error', message: String(message ?? error), code };
}

/** Creates an error equal to a stored one. */
export function toError(failure: Failure | undefined): Error {
  return namedError(failure?.name ?? 'Error', failure?.message ?? 'The step failed');
}

export function namedError(name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}

/** Whether an error forbids a retry: by its name, or as an instance of `NonRetryableError` with another name. */
export function isNonRetryable(error: unknown): boolean {
  return (
    toFailure(error).name === 'NonRetryableError' ||
    (typeof error === 'object' && error !== null && (error as Record<symbol, unknown>)[nonRetryable] === true)
  );
}
