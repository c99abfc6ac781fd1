// Maps file system errors to the codes of core/errors.ts.
import { PlatformError } from '#core/errors.ts';

/** @param action the action for the message, as in "may not be written". */
export function fileError(error: unknown, path: string, action: string): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
      return new PlatformError('file_not_found', { path });
    case 'EEXIST':
      return new PlatformError('file_exists', { path });
    case 'ENOTEMPTY':
      return new PlatformError('file_type', { path, what: 'a folder that is not empty: pass {recursive: true}' });
    case 'EISDIR':
    case 'ERR_FS_EISDIR':
      return new PlatformError('file_type', { path, what: 'a folder' });
    case 'ENOTDIR':
      return new PlatformError('file_type', { path, what: 'below a file, not a folder' });
    case 'ELOOP':
      return new PlatformError('file_type', { path, what: 'a link that points to itself' });
    case 'ENAMETOOLONG':
      return new PlatformError('invalid_argument', { reason: 'The path is longer than the file system supports' });
    case 'ENOSPC':
    case 'EDQUOT':
      return new PlatformError('sandbox_disk_full');
    case 'EACCES':
    case 'EPERM':
      return new PlatformError('file_forbidden', { path, action, reason: 'its permissions forbid it' });
    case 'EROFS':
      return new PlatformError('file_forbidden', { path, action, reason: 'that part of the file system is read-only' });
    default:
      return error;
  }
}
