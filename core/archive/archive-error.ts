// Problems of an uploaded archive. Thrown by code that reads archives, shown by the upload route.

/** Why an archive is refused, for programs. */
export type ArchiveProblem = 'archive_invalid' | 'artifact_invalid' | 'artifact_too_large' | 'artifact_too_many_files';

/** An archive is refused, and nothing of it is kept. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
  readonly reason: ArchiveProblem;

  constructor(reason: ArchiveProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
