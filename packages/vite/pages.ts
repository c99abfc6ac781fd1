// What a request that reaches Vite's server is for: a page of its own, a source of one, or something of the worker's.
// Looks at the disk, answers nothing.
import { existsSync, statSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';

/** Where Vite looks for files. */
export interface Folders {
  readonly root: string;
  /** What is served as it lies; null: there is none. */
  readonly publicFolder: string | null;
}

export function isRead(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Whether the path names a file of HTML in Vite's root. */
export function isPage(root: string, url = ''): boolean {
  const [name = ''] = url.split(/[?#]/);
  return name.endsWith('.html') && existsSync(path.join(root, path.posix.normalize(name)));
}

/** Whether a browser asks for a page to show. */
export function isNavigation({ method, headers }: IncomingMessage): boolean {
  const mode = headers['sec-fetch-mode'];
  return isRead(method) && (mode === undefined ? headers.accept?.includes('text/html') === true : mode === 'navigate');
}

/** Vite's client and tools, and modules and files that its pages import: a build gives all of them other names. */
export function isVitesOwn({ root }: Folders, base: string, url = ''): boolean {
  const [name = ''] = url.split(/[?#]/);
  const below = `/${name.startsWith(base) ? name.slice(base.length) : name.slice(1)}`;
  if (/^\/(?:@|__|node_modules\/)/.test(below) || /[?&]html-proxy\b/.test(url)) return true;
  return !below.endsWith('.html') && statSync(fileOf(root, below), { throwIfNoEntry: false })?.isFile() === true;
}

/** The nearest `404.html` above a path; null: there is none. */
export function missingPage({ root, publicFolder }: Folders, url = ''): string | null {
  const [name = ''] = url.split(/[?#]/);
  for (let at = path.posix.dirname(path.posix.normalize(name)); ; at = path.posix.dirname(at)) {
    for (const folder of publicFolder === null ? [root] : [publicFolder, root]) {
      const file = fileOf(folder, `${at}/404.html`);
      if (existsSync(file)) return file;
    }
    if (at === '/' || at === '.') return null;
  }
}

function fileOf(folder: string, url: string): string {
  try {
    return path.join(folder, path.posix.normalize(decodeURIComponent(url)));
  } catch {
    // No path of a file.
    return folder;
  }
}
