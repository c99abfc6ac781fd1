// Errors of an archive that is refused; no file of it is kept. Thrown by code that reads archives.
import { PlatformError } from '../errors.ts';

const codes = ['archive_invalid', 'artifact_invalid', 'artifact_too_large', 'artifact_too_many_files'] as const;

/** Why an archive is refused. */
type ArchiveCode = (typeof codes)[number];

export function archiveError(code: ArchiveCode, reason: string, options?: ErrorOptions): PlatformError {
  return new PlatformError(code, { reason }, options);
}

export function isArchiveError(error: unknown): error is PlatformError & { readonly code: ArchiveCode } {
  return error instanceof PlatformError && (codes as readonly string[]).includes(error.code);
}
