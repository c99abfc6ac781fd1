// Types of a worker's log line, from a local platform or a control plane.

/** A log line of a worker. */
export interface LogLine {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly deployment: string;
  readonly invocation: string | null;
  /** The id of the trace; absent without a control plane. */
  readonly traceId?: string | null;
  readonly text: string;
}

/** Reads the new lines since its last call. */
export type ReadLog = () => Promise<readonly LogLine[]>;
