import { defineConfig } from 'vitepress';

export default defineConfig({
  title: 'Site',
  cleanUrls: true,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: '/favicon.svg' }]],
});
