// Server rendering: react-dom (streamed), preact, vue. Run by test/integration/packages.test.ts.
import { createElement as h, Suspense, use } from 'react';
import { renderToReadableStream, renderToStaticMarkup } from 'react-dom/server';
import { h as preact } from 'preact';
import { useState } from 'preact/hooks';
import { renderToStringAsync, render } from 'preact-render-to-string';
import { createSSRApp, h as vue, ref } from 'vue';
import { renderToString, renderToWebStream } from 'vue/server-renderer';

function Late({ promise }) {
  return h('em', null, use(promise));
}
function Counter({ from }) {
  const [count] = useState(from);
  return preact('b', { class: 'n' }, count);
}
function vueApp() {
  return createSSRApp({
    setup: () => {
      const count = ref(3);
      return () => vue('p', { class: ['a', { b: true }] }, `vue ${count.value} <`);
    },
  });
}

export default {
  async fetch(request) {
    switch (new URL(request.url).pathname) {
      case '/react': {
        const promise = new Promise((resolve) => setTimeout(() => resolve('late'), 5));
        const stream = await renderToReadableStream(
          h('main', null, 'early', h(Suspense, { fallback: 'waiting' }, h(Late, { promise }))),
        );
        return new Response(stream, { headers: { 'content-type': 'text/html' } });
      }
      case '/react-static':
        return new Response(renderToStaticMarkup(h('p', { className: 'x', style: { color: 'red' } }, '<&>')));
      case '/preact':
        return new Response(
          render(preact(Counter, { from: 2 })) + (await renderToStringAsync(preact('i', null, 'later'))),
        );
      case '/vue':
        return new Response(await renderToString(vueApp()));
      default:
        return new Response(renderToWebStream(vueApp()));
    }
  },
};
