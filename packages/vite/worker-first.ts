// Requests that go to the worker before Vite looks for a file: `run_worker_first`, decided as by the engine in
// production (runtime/engine/assets/asset-rules.ts; a test compares the two).
import type { ProjectAssets } from './project.ts';

/** @param target path and query of a request */
export function isWorkerFirst(
  { runWorkerFirst }: Pick<ProjectAssets, 'runWorkerFirst'>,
  { method = '', url: target = '' }: { readonly method?: string | undefined; readonly url?: string | undefined },
): boolean {
  // Vite handles no other methods: they always go to the worker.
  if (method !== 'GET' && method !== 'HEAD') return false;
  if (typeof runWorkerFirst === 'boolean') return runWorkerFirst;
  const path = runWorkerFirst.length === 0 ? '' : decodedPath(target);
  if (path === null) return true;
  const excluded = runWorkerFirst.filter((pattern) => pattern.startsWith('!'));
  if (excluded.some((pattern) => globMatches(pattern.slice(1), path))) return false;
  return runWorkerFirst.some((pattern) => !pattern.startsWith('!') && globMatches(pattern, path));
}

/** Null: malformed. */
function decodedPath(target: string): string | null {
  const [path = ''] = target.split(/[?#]/);
  try {
    const decoded = decodeURIComponent(path);
    return decoded.includes('\0') ? null : decoded;
  } catch {
    return null;
  }
}

/** `*` matches any characters. Backtracking is no risk here, because the patterns are the project's own. */
function globMatches(pattern: string, text: string): boolean {
  const source = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${source.join('.*')}$`, 's').test(text);
}
