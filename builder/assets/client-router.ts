// Whether a site's routes are known to its browser alone, while nothing answers for them here. Called by build.ts,
// which says it beside its result.
import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseManifest } from '../frameworks/project-view.ts';

/** Packages that change the address in the browser. */
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
 * What to tell the author of a site with one page, a router and no fallback: a link into it answers 404.
 *
 * @param files keys of the site's files
 * @returns null: there is nothing to tell.
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
    'To have index.html answer, write into platform.yaml:\n' +
    'assets:\n  not_found_handling: single-page-application'
  );
}
