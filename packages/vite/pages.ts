// Classifies a request to Vite's server: a page, a source of a page, or a request for the worker. Reads the disk, but
// answers no request.
import { existsSync, statSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';

/** Folders in which Vite looks for files. */
interface Folders {
  readonly root: string;
  /** Folder of files served unchanged, or null. */
  readonly publicFolder: string | null;
}

export function isRead(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Whether the path names an HTML file in Vite's root. */
export function isPage(root: string, url = ''): boolean {
  const [name = ''] = url.split(/[?#]/);
  return name.endsWith('.html') && existsSync(path.join(root, path.posix.normalize(name)));
}

/** Whether a browser navigates to a page. */
export function isNavigation({ method, headers }: IncomingMessage): boolean {
  const mode = headers['sec-fetch-mode'];
  return isRead(method) && (mode === undefined ? headers.accept?.includes('text/html') === true : mode === 'navigate');
}

/** Vite's client and tools, and modules and files that its pages import, all of which have other names in a build. */
export function isVitesOwn({ root }: Folders, base: string, url = ''): boolean {
  const [name = ''] = url.split(/[?#]/);
  const below = `/${name.startsWith(base) ? name.slice(base.length) : name.slice(1)}`;
  if (/^\/(?:@|__|node_modules\/)/.test(below) || /[?&]html-proxy\b/.test(url)) return true;
  return !below.endsWith('.html') && statSync(fileOf(root, below), { throwIfNoEntry: false })?.isFile() === true;
}

/** The nearest `404.html` above a path, or null. */
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
    // The URL cannot be decoded, so it is no path of a file.
    return folder;
  }
}
