// Theme of the documentation: VitePress's default layout with the dashboard's fonts and colours. Runs in browsers.
import '@fontsource-variable/inter/wght.css';
import '@fontsource-variable/jetbrains-mono/wght.css';
import theme from 'vitepress/theme-without-fonts';
import './tokens.css';
import './style.css';

export default theme;
