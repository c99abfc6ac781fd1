// The lifecycle of a process of the platform: it starts, closes once on the first signal, and exits with a code for
// the reason. Used by main.ts of each program; the supervisor sends SIGTERM, or exits ('disconnect').

/** Exit code for a configuration that a restart would not fix (EX_CONFIG in sysexits.h). */
export const EXIT_CONFIGURATION = 78;

/** The used part of a log. */
interface ProcessLog {
  fatal(message: string): void;
  warn(details: object, message: string): void;
}

type Close = () => Promise<void>;

/** The running process, as its own `start` sees it. */
export interface RunningProcess {
  /** Ends the process. @param code exit code, 0 by default. */
  stop(code?: number): void;
  /** Whether the process is ending: no new work should start. */
  readonly isStopping: boolean;
  /** Closes everything that is open so far, if the process ends before `start` has resolved. */
  closeWith(close: Close): void;
}

/** Options for how a process ends. */
interface ProcessOptions {
  /** Milliseconds after which the process exits even if it has not closed; by default, it waits. */
  readonly closeMsMax?: number;
  /**
   * Whether SIGINT ends the process even if it has a parent, and a second signal exits immediately with code 1; by
   * default false.
   */
  readonly obeysSignals?: boolean;
  /** Logs an error of `start`, and returns the exit code. */
  readonly onFailure?: (error: unknown) => number;
  /** Exits; default: `process.exit`. */
  readonly exit?: (code: number) => void;
}

/**
 * Starts a process, and ends it on SIGTERM or when its parent has exited. SIGINT ends the process only if it has no
 * parent: a parent also gets SIGINT, and sends SIGTERM. An error of `start` is logged, and exits with {@link
 * EXIT_CONFIGURATION}; an error while closing is logged, and exits with 0.
 *
 * @param start Opens everything; resolves with the function that closes it. @returns when the process has started.
 * @example await runProcess(openLog('web', process.env), async () => {
 *   const server = await serve();
 *   return () => server.close(); });
 */
export async function runProcess(
  log: ProcessLog,
  start: (running: RunningProcess) => Promise<Close>,
  options: ProcessOptions = {},
): Promise<void> {
  const { closeMsMax, obeysSignals = false, exit = (code) => process.exit(code) } = options;
  let close: Close | null = null;
  let isStopping = false;
  const stop = async (code = 0): Promise<void> => {
    if (isStopping) {
      if (obeysSignals) exit(1);
      return;
    }
    isStopping = true;
    if (closeMsMax !== undefined) setTimeout(() => exit(code), closeMsMax).unref();
    await close?.().catch((error: unknown) => log.warn({ err: error }, 'Not closed properly'));
    exit(code);
  };
  const onSignal = (): void => void stop();
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', process.send === undefined || obeysSignals ? onSignal : () => {});
  process.on('disconnect', onSignal);
  try {
    close = await start({
      stop: (code) => void stop(code),
      get isStopping() {
        return isStopping;
      },
      closeWith: (given) => void (close = given),
    });
  } catch (error) {
    // The resources that `start` had opened were closed.
    if (isStopping) return;
    exit(options.onFailure?.(error) ?? failWith(log, error));
  }
}

function failWith(log: ProcessLog, error: unknown): number {
  log.fatal((error as Error).message);
  return EXIT_CONFIGURATION;
}
