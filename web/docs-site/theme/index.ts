// Theme of the documentation: VitePress's default layout with the dashboard's fonts and colours, our ranking of search
// results and our page for unknown URLs. Runs in browsers.
import '@fontsource-variable/inter/wght.css';
import '@fontsource-variable/jetbrains-mono/wght.css';
import theme from 'vitepress/theme-without-fonts';
import type { Theme } from 'vitepress';
import { h } from 'vue';
import './tokens.css';
import './style.css';
import { rankOf } from './search-rank.ts';

/** The page for unknown URLs; VitePress's own page has no `<main>`. */
const notFound = () =>
  h('main', { class: 'not-found' }, [
    h('p', '404'),
    h('h1', 'Page not found'),
    h('p', 'There is no page at this address. Search the documentation, or start at its home page.'),
    h('a', { href: '/' }, 'Documentation home'),
  ]);

export default {
  extends: theme,
  Layout: () => h(theme.Layout, null, { 'not-found': notFound }),
  enhanceApp({ siteData }) {
    // Functions in the configuration would be sent as text and evaluated, which the CSP forbids.
    const { themeConfig } = siteData.value;
    const options = { miniSearch: { searchOptions: { boostDocument: rankOf } } };
    siteData.value = { ...siteData.value, themeConfig: { ...themeConfig, search: { provider: 'local', options } } };
  },
} satisfies Theme;
