// Validates paths inside an artifact from outside: relative, plain, and only where an artifact has files. Pure.

const PATH_BYTES_MAX = 1024;
const SEGMENT_BYTES_MAX = 255;
const DEPTH_MAX = 64;
const ROOT_FILES: ReadonlySet<string> = new Set([
  'manifest.json',
  'worker.js',
  'worker.js.map',
  'migrations.json',
  'server.tar',
]);

/** Why the path of an asset is invalid, to be appended to its name; null if it is valid. */
export function assetPathProblem(path: string): string | null {
  if (path === '') return 'is empty';
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) return `is longer than ${PATH_BYTES_MAX} bytes`;
  if (path.startsWith('/')) return 'is absolute';
  // A backslash separates folders on other systems.
  if (/[\p{Cc}\\]/u.test(path)) return 'contains a character that is not allowed in a path';
  if (!path.isWellFormed()) return 'is not valid Unicode';
  const segments = path.split('/');
  if (segments.length > DEPTH_MAX) return `is deeper than ${DEPTH_MAX} folders`;
  for (const segment of segments) {
    if (segment === '') return 'has an empty part';
    if (segment === '.' || segment === '..') return `has the part "${segment}"`;
    if (Buffer.byteLength(segment) > SEGMENT_BYTES_MAX) return `has a part longer than ${SEGMENT_BYTES_MAX} bytes`;
  }
  return null;
}

/** Why the path of a file of an artifact is invalid; null if it is valid. */
export function artifactPathProblem(path: string): string | null {
  const problem = assetPathProblem(path);
  if (problem !== null) return problem;
  if (ROOT_FILES.has(path) || /^encoded\/[0-9a-f]{64}$/.test(path) || path.startsWith('assets/')) return null;
  return 'is not a part of an artifact';
}

/** Why the path of a folder of an artifact is invalid; null if it is valid. */
export function artifactFolderProblem(path: string): string | null {
  const problem = assetPathProblem(path);
  if (problem !== null) return problem;
  return path === 'encoded' || path === 'assets' || path.startsWith('assets/') ? null : 'is not a part of an artifact';
}
