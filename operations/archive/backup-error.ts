// The error of backup, restore and upgrade, with how to fix it. Thrown throughout this folder, shown by the commands
// and in the log.

/** Machine-readable reason. */
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

/** A backup, restore or upgrade that was refused or failed. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
  readonly reason: BackupProblem;
  /** How to fix it, in one sentence. */
  readonly advice: string;

  constructor(reason: BackupProblem, message: string, advice: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
    this.advice = advice;
  }
}
