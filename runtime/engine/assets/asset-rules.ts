// Maps requests to static files: paths, HTML names, `run_worker_first`. Pure; used by assets.ts and the handler. Only
// files listed in the manifest are ever returned, so no path can lead outside.
import type { AssetRules } from '#core/manifest.ts';

/** The parts of a request that the rules need; an `Exchange` has them. */
export interface AssetRequest {
  readonly method: string;
  /** Path and query, as received. */
  readonly target: string;
  header(name: string): string | null;
}

/**
 * Whether a request goes to the asset layer or straight to the worker. `asset` does not mean that the file exists.
 * The path is compared after decoding, as in the asset layer, so that encoded characters cannot bypass a pattern.
 */
export function assetDecision(rules: AssetRules, request: AssetRequest): 'asset' | 'worker' {
  if (request.method !== 'GET' && request.method !== 'HEAD') return 'worker';
  const first = rules.runWorkerFirst;
  if (first === true) return 'worker';
  if (first === false || first.length === 0) return 'asset';
  const path = decodedPath(request.target);
  if (path === null) return 'worker';
  let decision: 'asset' | 'worker' = 'asset';
  for (const pattern of first) {
    if (pattern.startsWith('!')) {
      if (globMatches(pattern.slice(1), path)) return 'asset';
    } else if (decision === 'asset' && globMatches(pattern, path)) decision = 'worker';
  }
  return decision;
}

/** The decoded path of a request target; null if it cannot name a file: a malformed escape, invalid UTF-8 or a NUL. */
export function decodedPath(target: string): string | null {
  const end = target.search(/[?#]/);
  const path = end < 0 ? target : target.slice(0, end);
  if (!path.includes('%')) return path.includes('\0') ? null : path;
  try {
    const decoded = decodeURIComponent(path);
    return decoded.includes('\0') ? null : decoded;
  } catch {
    return null;
  }
}

/** The target of a path: a file's key in the manifest, or the canonical path to redirect to. */
type AssetTarget = { readonly file: string } | { readonly redirect: string };

/**
 * The file of a decoded path. HTML is served without `.html`, folders with a trailing slash; other spellings
 * redirect.
 *
 * @param isFile whether there is a file with this key
 * @example assetTarget((key) => key === 'about.html', '/about') // { file: 'about.html' }
 * @example assetTarget((key) => key === 'about.html', '/about/') // { redirect: '/about' }
 */
export function assetTarget(isFile: (key: string) => boolean, path: string): AssetTarget | null {
  const key = path.slice(1);
  const has = (name: string): boolean => isFile(name) && isPlainKey(name);
  if (key === '' || key.endsWith('/')) {
    if (has(`${key}index.html`)) return { file: `${key}index.html` };
    const name = key.slice(0, -1);
    if (has(`${name}.html`)) return { redirect: `/${name}` };
    return has(name) && name !== '' ? { redirect: `/${name}` } : null;
  }
  if (has(key)) {
    if (key === 'index.html') return { redirect: '/' };
    if (key.endsWith('/index.html')) return { redirect: `/${key.slice(0, -'index.html'.length)}` };
    const name = key.slice(0, -'.html'.length);
    // A file whose real name is the short name takes precedence.
    if (key.endsWith('.html') && name !== '' && !name.endsWith('/') && !has(name)) return { redirect: `/${name}` };
    return { file: key };
  }
  if (key === 'index' || key.endsWith('/index')) {
    const above = key.slice(0, -'index'.length);
    if (has(`${key}.html`)) return { redirect: `/${above}` };
    return has(`${above.slice(0, -1)}.html`) ? { redirect: `/${above.slice(0, -1)}` } : null;
  }
  if (has(`${key}.html`)) return { file: `${key}.html` };
  if (has(`${key}/index.html`)) return { redirect: `/${key}/` };
  if (!key.endsWith('.html')) return null;
  // The page may exist in the other spelling: as a folder's page instead of a file, or the reverse.
  const name = key.slice(0, -'.html'.length);
  if (has(`${name}/index.html`)) return { redirect: `/${name}/` };
  const above = name.endsWith('/index') ? name.slice(0, -'/index'.length) : '';
  return above !== '' && has(`${above}.html`) ? { redirect: `/${above}` } : null;
}

/** The nearest `404.html` above a decoded path. */
export function notFoundPage(isFile: (key: string) => boolean, path: string): string | null {
  let folder = path.slice(1);
  for (;;) {
    const slash = folder.lastIndexOf('/');
    folder = slash < 0 ? '' : folder.slice(0, slash);
    const key = folder === '' ? '404.html' : `${folder}/404.html`;
    if (isFile(key) && isPlainKey(key)) return key;
    if (folder === '') return null;
  }
}

/** Whether a browser navigates, so that an application's shell or an error page is useful. */
export function isNavigation(request: AssetRequest): boolean {
  const mode = request.header('sec-fetch-mode');
  if (mode !== null) return mode === 'navigate';
  return request.header('accept')?.includes('text/html') === true;
}

/** Whether the client can use a page: a browser that navigates, or a client that accepts anything, such as curl. */
export function takesPage(request: AssetRequest): boolean {
  if (request.header('sec-fetch-mode') !== null) return isNavigation(request);
  return /^$|text\/html|\*\/\*/.test(request.header('accept') ?? '');
}

/**
 * Bundlers add a hash of the content to names: such a file never changes. Words and numbers in names are not taken for
 * hashes.
 */
export function isHashedName(key: string): boolean {
  if (key.includes('/immutable/')) return true;
  const token = /[.-]([A-Za-z0-9_-]{8,64})\.[A-Za-z0-9]+(?:\.map)?$/.exec(key)?.[1];
  if (token === undefined) return false;
  if (/^[0-9a-f]+$/.test(token)) return /\d/.test(token) && /[a-f]/.test(token);
  const last = token.slice(-8);
  return key.includes('/') && (token.length === 8 || token.at(-9) === '-') && /\d/.test(last) && /[A-Z]/.test(last);
}

/** The keys of a manifest's files. */
export function keysOf(files: AssetRules['files']): (key: string) => boolean {
  return (key) => Object.hasOwn(files, key);
}

/** A manifest is content-addressed, but not trusted: a key that leaves the assets folder is ignored. */
function isPlainKey(key: string): boolean {
  return !/(?:^|\/)(?:\.{0,2})(?:\/|$)|[\\\0]/.test(key);
}

/**
 * Matches a pattern: `*` matches any characters, other characters match themselves. Linear in practice: no regular
 * expression of a tenant is run.
 */
export function globMatches(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let mark = 0;
  while (t < text.length) {
    if (p < pattern.length && pattern[p] === '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.length && pattern[p] === text[t]) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++mark;
    } else return false;
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}
