// Status of the sandbox service for operators (`GET /v1/status`, with its token): used by `platform doctor` and the
// operator's page, since only the service sees the container engine or provider. Types only.

/** Result of a check; `advice` is how to fix it, null if it passed. */
export interface SandboxCheck {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly message: string;
  readonly advice: string | null;
}

/** The response. */
export interface SandboxServiceStatus {
  /** `container`, `hosted` or `local`. */
  readonly provider: string;
  /** Sandboxes of this replica, and how many of them run. */
  readonly held: number;
  readonly running: number;
  readonly checks: readonly SandboxCheck[];
}
