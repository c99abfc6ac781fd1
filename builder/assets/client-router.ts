// Detects sites with client-side routes and no fallback for them. Called by build.ts, which reports the warning with
// its result.
import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseManifest } from '../frameworks/project-view.ts';

/** Client-side routers. */
const ROUTERS = [
  '@angular/router',
  '@solidjs/router',
  '@tanstack/react-router',
  '@tanstack/solid-router',
  '@tanstack/vue-router',
  'preact-iso',
  'preact-router',
  'react-router',
  'react-router-dom',
  'svelte-spa-router',
  'vue-router',
  'wouter',
];
const PACKAGE_BYTES_MAX = 1024 * 1024;

/**
 * Warns about a site with one page, a router and no fallback: deep links answer 404.
 *
 * @param files keys of the site's files
 * @returns null: no warning.
 * @example await clientRouterWarning('/srv/shop', ['index.html', 'assets/index-4f3a.js'])
 */
export async function clientRouterWarning(root: string, files: readonly string[]): Promise<string | null> {
  const pages = files.filter((key) => key.endsWith('.html'));
  if (pages.length !== 1 || pages[0] !== 'index.html') return null;
  const file = join(root, 'package.json');
  const found = await lstat(file).catch(() => null);
  if (found === null || !found.isFile() || found.size > PACKAGE_BYTES_MAX) return null;
  const { packages } = parseManifest(await readFile(file, 'utf8'));
  const router = ROUTERS.find((name) => packages.has(name));
  if (router === undefined) return null;
  return (
    `The site has one page and uses ${router}: a link to any other path answers 404. ` +
    'To serve index.html for such links, add this to platform.yaml:\n' +
    'assets:\n  not_found_handling: single-page-application'
  );
}
