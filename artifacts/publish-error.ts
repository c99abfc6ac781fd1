// Why something cannot be published, for the CLI and the control plane: what, where and what to do.

/**
 * A deployment cannot be published, or a route record cannot be read or changed, for a reason that its user can act
 * on.
 */
export class PublishError extends Error {
  /** The file concerned; null: none. */
  readonly file: string | null;
  /** What to do, one sentence; null: nothing. */
  readonly advice: string | null;

  constructor(message: string, { file = null, advice = null }: { file?: string | null; advice?: string | null } = {}) {
    super(message);
    this.name = 'PublishError';
    this.file = file;
    this.advice = advice;
  }
}
