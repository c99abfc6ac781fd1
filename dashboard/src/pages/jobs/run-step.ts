// Types of the steps of a run.

/** A step of any kind. */
export interface RunStep {
  readonly name: string;
  readonly kind: string;
  readonly status: string;
  readonly attempts: number;
  readonly result: unknown;
  readonly error: { readonly name: string; readonly message: string } | null;
  readonly wakeAt: number | null;
  readonly eventType: string | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
}
