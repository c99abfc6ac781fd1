// VitePress configuration of the documentation site. build.ts passes the pages; this file reads no files.
import { transformerStyleToClass } from '@shikijs/transformers';
import { defineConfig, type DefaultTheme, type MarkdownRenderer, type UserConfig } from 'vitepress';
import type { Plugin } from 'vite';
import { navigationOf } from './navigation.ts';

/** Styles of highlighted code as classes, since the CSP forbids style attributes. */
export const CODE_STYLE_FILE = 'code.css';
export const codeStyles = transformerStyleToClass({ classPrefix: 'code-' });

/** @param titles the titles of all pages. @param outDir output folder. */
export function siteConfig(titles: ReadonlyMap<string, string>, outDir: string): UserConfig<DefaultTheme.Config> {
  const linkOf = (page: string): string => `/${page.replace(/(^|\/)index$/, '$1')}`;
  return defineConfig({
    title: 'platform',
    description: 'A serverless platform that you host yourself',
    lang: 'en',
    outDir,
    cleanUrls: true,
    // Without this option, each page contains the names of all other pages.
    metaChunk: true,
    head: [
      ['link', { rel: 'stylesheet', href: `/${CODE_STYLE_FILE}` }],
      ['link', { rel: 'icon', href: '/icon.svg' }],
    ],
    markdown: {
      // Documents contain angle brackets but no HTML.
      html: false,
      codeTransformers: [codeStyles],
      anchor: { slugify: anchorOf },
      config(markdown) {
        neverInterpolated(markdown);
        rightByClass(markdown);
        emptyCells(markdown);
      },
    },
    // Remove style attributes of the layout; scripts set them again in a way that the CSP allows.
    transformHtml: (html) => html.replaceAll(/ style="(?:--vp-vh:0px|position:relative);?"/g, ''),
    vite: {
      logLevel: 'error',
      build: { assetsInlineLimit: 0, chunkSizeWarningLimit: 3000 },
      plugins: [plainMarkers],
    },
    themeConfig: {
      search: { provider: 'local' },
      outline: { level: [2, 3], label: 'On this page' },
      sidebar: navigationOf(titles).map(({ title, pages }) => ({
        text: title,
        items: pages.map(([page, text]) => ({ text, link: linkOf(page) })),
      })),
      nav: [
        { text: 'Start', link: '/getting-started' },
        { text: 'Bindings', link: '/bindings' },
        { text: 'Self-hosting', link: '/handler' },
        { text: 'Reference', link: '/configuration-reference' },
      ],
      docFooter: { prev: 'Previous page', next: 'Next page' },
    },
  });
}

/** Heading anchors as on Git hosts, so that links work in both. */
function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}

/**
 * The installed version of Rolldown appends a hash to Vite's marker of a lazy import; Vite would then leave the marker
 * in the code.
 */
const plainMarkers: Plugin = {
  name: 'plain-markers',
  renderChunk: {
    order: 'post',
    handler: (code) => ({ code: code.replace(/(__VITE_PRELOAD__)[0-9a-f]{32}/g, '$1'), map: null }),
  },
};

/** Right-aligns columns by class, since the CSP forbids style attributes. */
function rightByClass(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push('right-by-class', ({ tokens }) => {
    for (const token of tokens) {
      const side = /^text-align:(\w+)$/.exec(String(token.attrGet('style') ?? ''))?.[1];
      if (side === undefined) continue;
      token.attrs = token.attrs!.filter(([name]) => name !== 'style');
      token.attrJoin('class', side);
    }
  });
}

/** The empty corner of a table is not a header: `<td>` instead of `<th>`. */
function emptyCells(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push('empty-cells', ({ tokens }) => {
    for (const [at, token] of tokens.entries()) {
      if (token.type !== 'th_open' || tokens[at + 1]?.content !== '') continue;
      token.tag = 'td';
      tokens[at + 2]!.tag = 'td';
    }
  });
}

/** Disables Vue interpolation of braces in documents. */
function neverInterpolated(markdown: MarkdownRenderer): void {
  const { rules } = markdown.renderer;
  for (const name of ['text', 'code_inline'] as const) {
    const before = rules[name]!;
    rules[name] = (...given) =>
      before(...given)
        .replaceAll('{{', '&#123;&#123;')
        .replaceAll('}}', '&#125;&#125;');
  }
}
