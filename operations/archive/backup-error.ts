// Why a backup, a restore or an upgrade does not do what was asked, with what to do about it. Thrown all over this
// folder, shown by the commands and in the log.

/** For programs. */
export type BackupProblem =
  | 'damaged'
  | 'newer'
  | 'passphrase'
  | 'settings'
  | 'space'
  | 'running'
  | 'not_empty'
  | 'unfinished'
  | 'failed';

/** It is not done. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
  readonly reason: BackupProblem;
  /** What to do, one sentence. */
  readonly advice: string;

  constructor(reason: BackupProblem, message: string, advice: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
    this.advice = advice;
  }
}
