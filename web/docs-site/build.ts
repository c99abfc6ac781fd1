// Builds the documentation site with VitePress: pages, search index, one theme, no external requests. Fails on dead
// links. Called by folder.ts for clones and by `npm run pack`. Not packed.
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { finishSite } from '../serve/finish-site.ts';
import { deadLinks } from './dead-links.ts';
import { isSearched, readPages, root, titleOf } from './sources.ts';

const ICON = 'dashboard/src/icon.svg';
const PICTURES = 'docs/pictures';
/** Style injected by VueUse while it switches the theme: `transition: none` for all elements. */
const NO_TRANSITION_STYLE = "'sha256-skqujXORqzxt1aE0NNXxujEanPTX6raoqSscTV/Ww/Y='";

/**
 * Builds into a folder, which is emptied first.
 *
 * @param quality the quality of the compression, 0 to 11.
 * @throws {Error} with the page and the link of each dead link or missing picture.
 */
export async function buildDocs(out: string, quality?: number): Promise<void> {
  const stage = mkdtempSync(path.join(tmpdir(), 'platform-docs-'));
  try {
    const pages = await readPages();
    for (const [page, text] of pages) {
      const file = path.join(stage, `${page}.md`);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, isSearched(page) ? text : `---\nsearch: false\n---\n\n${text}`);
    }
    cpSync(path.join(root, PICTURES), path.join(stage, 'public/pictures'), { recursive: true });
    const own = path.join(stage, '.vitepress');
    cpSync(path.join(import.meta.dirname, 'theme'), path.join(own, 'theme'), { recursive: true });
    cpSync(path.join(root, 'dashboard/src/styles/tokens.css'), path.join(own, 'theme/tokens.css'));
    symlinkSync(path.join(root, 'node_modules'), path.join(stage, 'node_modules'));
    const titles = [...pages].map(([page, text]) => [page, titleOf(text)]);
    const { CODE_STYLE_FILE, codeStyles, siteConfig } = await import('./config.ts');
    const { build } = await import('vitepress');
    rmSync(out, { recursive: true, force: true });
    globalThis.platformDocsConfig = siteConfig(new Map(titles as [string, string][]), out);
    writeFileSync(path.join(own, 'config.mjs'), 'export default globalThis.platformDocsConfig;\n');
    await build(stage);
    const dead = deadLinks(out);
    if (dead.length > 0) throw new Error(`The documentation has broken links:\n${dead.join('\n')}`);
    // Sorted, because pages are rendered concurrently in any order, and the same commit must give the same release
    // archive.
    writeFileSync(
      path.join(out, CODE_STYLE_FILE),
      codeStyles
        .getCSS()
        .split(/(?<=\})/)
        .toSorted()
        .join(''),
    );
    cpSync(path.join(root, ICON), path.join(out, 'icon.svg'));
    await finishSite(out, {
      notFound: '404.html',
      isHashed: (name) => name.startsWith('assets/'),
      policy: { 'style-src': [NO_TRANSITION_STYLE] },
      ...(quality !== undefined && { quality }),
    });
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

declare global {
  /** Configuration for VitePress, created in this process. */
  var platformDocsConfig: object | undefined;
}
