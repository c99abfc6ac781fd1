// Errors for projects that cannot be served here now, and waits with a timeout. Called by the other files of this
// folder.
import { PlatformError } from '#core/errors.ts';

/** The error for a request that cannot be served here now. */
export function unavailable(reason: string): PlatformError {
  return new PlatformError('database_unavailable', { reason });
}

/** The reason of a failure, for reports. */
export function reasonOf(error: unknown): string {
  return error instanceof PlatformError ? String(error.details['reason'] ?? error.message) : (error as Error).message;
}

/** @throws {Error} `late` after this many milliseconds. */
export async function within<Value>(ms: number, promise: Promise<Value>, late: () => Error): Promise<Value> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), ms);
  return Promise.race([promise, ended]).finally(() => clearTimeout(timer));
}
