// The dashboard's page: its sources (dashboard/) bundled when they are first asked for, and served from memory.
// server.ts asks.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

/** A file of the page. */
interface PageFile {
  readonly type: string;
  readonly content: string;
}

const folder = join(import.meta.dirname, '../../../dashboard');

/** Only what the page itself brings, nothing from elsewhere, and nothing that is written into it. */
export const pageHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-cache',
} as const;

async function bundle(): Promise<string> {
  const build = await rolldown({ input: join(folder, 'main.ts'), platform: 'browser', logLevel: 'silent' });
  try {
    const { output } = await build.generate({ format: 'esm', minify: true });
    return output[0].code;
  } finally {
    await build.close();
  }
}

/**
 * Finds a file of the page; null for a path that is none. A view's path is the page's own affair: it stands behind `#`.
 */
export function createPage(): (path: string) => Promise<PageFile | null> {
  let script: Promise<string> | null = null;
  return async (path) => {
    switch (path) {
      case '/':
        return { type: 'text/html; charset=utf-8', content: await readFile(join(folder, 'index.html'), 'utf8') };
      case '/style.css':
        return { type: 'text/css; charset=utf-8', content: await readFile(join(folder, 'style.css'), 'utf8') };
      case '/main.js': {
        script ??= bundle();
        // Tried again after a failure.
        script.catch(() => (script = null));
        return { type: 'text/javascript; charset=utf-8', content: await script };
      }
      case '/icon.svg':
        return { type: 'image/svg+xml', content: await readFile(join(folder, 'icon.svg'), 'utf8') };
      default:
        return null;
    }
  };
}
