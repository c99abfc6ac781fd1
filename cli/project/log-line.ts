// A line of a worker's log, from the platform of this machine or from a control plane. Types only.

/** A line that a worker wrote. */
export interface LogLine {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly deployment: string;
  readonly invocation: string | null;
  /** Absent where there is no control plane. */
  readonly traceId?: string | null;
  readonly text: string;
}

/** Reads the lines that came since it was called last. */
export type ReadLog = () => Promise<readonly LogLine[]>;
