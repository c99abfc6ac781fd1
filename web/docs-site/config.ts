// VitePress's configuration of the documentation site. build.ts gives it the pages; nothing is read here.
import { transformerStyleToClass } from '@shikijs/transformers';
import { defineConfig, type DefaultTheme, type MarkdownRenderer, type UserConfig } from 'vitepress';
import type { Plugin } from 'vite';
import { navigationOf } from './navigation.ts';

/** Styles of highlighted code, as classes: the policy of the pages allows no style attributes. */
export const CODE_STYLE_FILE = 'code.css';
export const codeStyles = transformerStyleToClass({ classPrefix: 'code-' });

/** @param titles of all pages. @param outDir where the built site goes. */
export function siteConfig(titles: ReadonlyMap<string, string>, outDir: string): UserConfig<DefaultTheme.Config> {
  const linkOf = (page: string): string => `/${page.replace(/(^|\/)index$/, '$1')}`;
  return defineConfig({
    title: 'platform',
    description: 'A serverless platform that you host yourself',
    lang: 'en',
    outDir,
    cleanUrls: true,
    // Otherwise each page has the names of all others in it.
    metaChunk: true,
    head: [
      ['link', { rel: 'stylesheet', href: `/${CODE_STYLE_FILE}` }],
      ['link', { rel: 'icon', href: '/icon.svg' }],
    ],
    markdown: {
      // Documents have words in angle brackets, and no HTML.
      html: false,
      codeTransformers: [codeStyles],
      anchor: { slugify: anchorOf },
      config(markdown) {
        neverInterpolated(markdown);
        rightByClass(markdown);
      },
    },
    // What the layout writes as attributes, scripts set again in a way that the policy allows.
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
      docFooter: { prev: 'Before', next: 'Next' },
    },
  });
}

/** As Git hosts name the headings of the same documents: their links lead to the same places here. */
function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}

/**
 * This rolldown ends the marker of a lazy import with a hash, which this Vite leaves in the code when it replaces the
 * marker.
 */
const plainMarkers: Plugin = {
  name: 'plain-markers',
  renderChunk: {
    order: 'post',
    handler: (code) => ({ code: code.replace(/(__VITE_PRELOAD__)[0-9a-f]{32}/g, '$1'), map: null }),
  },
};

/** Columns of figures stand right by a class: the policy of the pages allows no style attributes. */
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

/** Braces in documents are text: no page runs what stands in them. */
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
