// Limits of one call of a sandbox, enforced by the guest, the service and the agent.

/** These limits count bytes, characters or milliseconds, or a number of things. */
export const SANDBOX_LIMITS = {
  /** Longer work is a process (`startProcess`). */
  commandMsMax: 600_000,
  commandMs: 60_000,
  /** JSON arguments of a call. */
  argumentsBytesMax: 4 * 1024 * 1024,
  /** Characters of arguments that are sent in a header. */
  headerArgumentsCharsMax: 48 * 1024,
  commandCharsMax: 1024 * 1024,
  stdinBytesMax: 1024 * 1024,
  pathBytesMax: 4096,
  /** Variables of a call or of `setEnvVars`, and their names and values together. */
  variablesMax: 500,
  variableBytesMax: 256 * 1024,
  /** Each of stdout and stderr of `exec`; the rest is dropped, and `truncated` reports it. */
  outputBytesMax: 10 * 1024 * 1024,
  /** The latest output kept of a background process. */
  logBytesMax: 1024 * 1024,
  /** Concurrent processes, and processes remembered after their end. */
  processesMax: 100,
  /** How much of one command's result is logged (`SANDBOX_LOG_EXEC`). */
  loggedBytesMax: 16 * 1024,
  /** Entries of one `listFiles`. */
  filesMax: 10_000,
  watchesMax: 20,
  terminalsMax: 20,
  /** Columns of a terminal, and rows. */
  terminalSideMax: 1000,
  /** Per sandbox. */
  exposedPortsMax: 20,
} as const;
