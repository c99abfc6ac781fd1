// Theme of the documentation: VitePress's default layout with the dashboard's fonts and colours, and our ranking of
// search results. Runs in browsers.
import '@fontsource-variable/inter/wght.css';
import '@fontsource-variable/jetbrains-mono/wght.css';
import theme from 'vitepress/theme-without-fonts';
import type { Theme } from 'vitepress';
import './tokens.css';
import './style.css';
import { rankOf } from './search-rank.ts';

export default {
  extends: theme,
  enhanceApp({ siteData }) {
    // Functions in the configuration would be sent as text and evaluated, which the CSP forbids.
    const { themeConfig } = siteData.value;
    const options = { miniSearch: { searchOptions: { boostDocument: rankOf } } };
    siteData.value = { ...siteData.value, themeConfig: { ...themeConfig, search: { provider: 'local', options } } };
  },
} satisfies Theme;
