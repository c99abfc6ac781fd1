// The dashboard's page, which is the built application (dashboard/build/). In a clone of the repository, it is built
// when it is first opened. The browser caches files with a hash in their names. Every path that is neither a file nor a
// route is a page of the dashboard. Used by server.ts.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dashboardFolder } from '#dashboard/build/folder.ts';
import { PAGE_HEADERS } from '#dashboard/build/page-headers.ts';

/** A file of the page. */
interface PageFile {
  readonly headers: Readonly<Record<string, string>>;
  readonly content: string | Buffer;
}

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
  md: 'text/plain; charset=utf-8',
};
const ASSET = /^\/assets\/[\w.-]+\.(js|css|svg|woff2)$/;

/**
 * Finds a file of the page, or the page itself for one of its URLs, or null.
 *
 * @throws {Error} if the application does not build.
 */
export function createPage(
  environment: Readonly<Record<string, string | undefined>>,
): (path: string, isNavigation: boolean) => Promise<PageFile | null> {
  let opened: Promise<string> | null = null;
  let index: string | null = null;
  const folder = (): Promise<string> => {
    opened ??= dashboardFolder(environment);
    // If the build fails, the next request tries again.
    opened.catch(() => (opened = null));
    return opened;
  };
  return async (path, isNavigation) => {
    const [, extension] = ASSET.exec(path) ?? [];
    if (extension !== undefined) {
      const content = await readFile(join(await folder(), path)).catch(() => null);
      if (content === null) return null;
      return {
        content,
        headers: {
          'content-type': types[extension]!,
          'cache-control': 'public, max-age=31536000, immutable',
          'x-content-type-options': 'nosniff',
        },
      };
    }
    if (path !== '/' && !(isNavigation && !path.startsWith('/api/') && !path.startsWith('/assets/'))) return null;
    index ??= (await readFile(join(await folder(), 'index.html'), 'utf8')).replace(
      'content="production"',
      'content="dev"',
    );
    return { content: index, headers: { ...PAGE_HEADERS, 'content-type': 'text/html; charset=utf-8' } };
  };
}
