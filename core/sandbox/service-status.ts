// What the sandbox service says of itself to operators (`GET /v1/status`, with its token): `platform doctor` and the
// operator's page ask for it, since only the service sees the engine or the provider. Types only.

/** What a check found; `advice` is what to do, null where all is well. */
export interface SandboxCheck {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly message: string;
  readonly advice: string | null;
}

/** The answer. */
export interface SandboxServiceStatus {
  /** `container`, `hosted` or `local`. */
  readonly provider: string;
  /** Sandboxes that this replica has, and those of them that run. */
  readonly held: number;
  readonly running: number;
  readonly checks: readonly SandboxCheck[];
}
