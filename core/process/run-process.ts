// The lifecycle of a process of the platform: it starts, closes once on the first signal, and exits with a code for
// the reason. Used by main.ts of each program; the supervisor sends SIGTERM, or exits ('disconnect').

/** Exit code for a configuration that a restart would not fix (EX_CONFIG in sysexits.h). */
export const EXIT_CONFIGURATION = 78;

/** The used part of a log. */
interface ProcessLog {
  fatal(message: string): void;
  warn(details: object, message: string): void;
}

/** How a process ends. */
interface ProcessOptions {
  /** Milliseconds after which it exits even if it has not closed; default: it waits. */
  readonly closeMsMax?: number;
}

/**
 * Starts a process, and ends it on SIGTERM or when its parent is gone. SIGINT ends it only without a parent: a parent
 * also gets SIGINT, and sends SIGTERM. An error of `start` is logged, and exits with {@link EXIT_CONFIGURATION}; an
 * error while closing is logged, and exits with 0.
 *
 * @param start Opens everything; resolves with the function that closes it. `stop` ends the process from inside.
 * @returns when it has started.
 * @example await runProcess(openLog('web', process.env), async () => {
 *   const server = await serve();
 *   return () => server.close(); });
 */
export async function runProcess(
  log: ProcessLog,
  start: (stop: () => void) => Promise<() => Promise<void>>,
  { closeMsMax }: ProcessOptions = {},
): Promise<void> {
  let close: (() => Promise<void>) | null = null;
  let isStopping = false;
  const stop = async (): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    if (closeMsMax !== undefined) setTimeout(() => process.exit(0), closeMsMax).unref();
    await close?.().catch((error: unknown) => log.warn({ err: error }, 'Not closed properly'));
    process.exit(0);
  };
  process.on('SIGTERM', () => void stop());
  process.on('SIGINT', process.send === undefined ? () => void stop() : () => {});
  process.on('disconnect', () => void stop());
  try {
    close = await start(() => void stop());
  } catch (error) {
    log.fatal((error as Error).message);
    process.exit(EXIT_CONFIGURATION);
  }
}
