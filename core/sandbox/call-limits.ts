// Limits of one call of a sandbox, enforced by the guest, the service and the agent.

/** The limits, whose names say whether they count bytes, characters, milliseconds or other things. */
export const SANDBOX_LIMITS = {
  /** Maximum duration of a command; `startProcess` starts longer work. */
  commandMsMax: 600_000,
  commandMs: 60_000,
  /** Size of the JSON arguments of a call. */
  argumentsBytesMax: 4 * 1024 * 1024,
  /** Length of arguments that are sent in a header. */
  headerArgumentsCharsMax: 48 * 1024,
  commandCharsMax: 1024 * 1024,
  stdinBytesMax: 1024 * 1024,
  pathBytesMax: 4096,
  /** Number of variables of a call or of `setEnvVars`, and the total size of their names and values. */
  variablesMax: 500,
  variableBytesMax: 256 * 1024,
  /** Size of stdout, and of stderr, of `exec`; the rest is dropped, and `truncated` is set. */
  outputBytesMax: 10 * 1024 * 1024,
  /** How much of the latest output of a background process is kept. */
  logBytesMax: 1024 * 1024,
  /** Number of running processes, and of processes that are remembered after their end. */
  processesMax: 100,
  /** How much of one command's result is logged (`SANDBOX_LOG_EXEC`). */
  loggedBytesMax: 16 * 1024,
  /** Entries of one `listFiles`. */
  filesMax: 10_000,
  watchesMax: 20,
  terminalsMax: 20,
  /** Limit of a terminal's columns, and of its rows. */
  terminalSideMax: 1000,
  /** Per sandbox. */
  exposedPortsMax: 20,
} as const;
