// The message when the public port is taken, for the supervisor and for a standalone engine.

/** Returns the message; null if the error has another reason. */
export function portFailureText(error: unknown): string | null {
  return (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
    ? `Port ${process.env['HANDLER_PORT'] ?? ''} is taken: stop what listens there, or set HANDLER_PORT`
    : null;
}
