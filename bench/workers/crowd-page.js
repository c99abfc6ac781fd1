// A page rendered for each request: a table of fifty rows as components.
import { jsx } from 'hono/jsx';

const rows = Array.from({ length: 50 }, (_, at) => ({ name: `Product ${at}`, price: 10 + at }));

function Row({ product }) {
  return jsx('tr', {}, jsx('td', {}, product.name), jsx('td', { class: 'price' }, `${product.price} EUR`));
}

function Page({ title }) {
  const table = jsx('table', {}, ...rows.map((product) => jsx(Row, { product })));
  return jsx('html', {}, jsx('head', {}, jsx('title', {}, title)), jsx('body', {}, jsx('h1', {}, title), table));
}

export default {
  fetch(request) {
    const title = new URL(request.url).searchParams.get('title') ?? 'Products';
    return new Response(`<!doctype html>${jsx(Page, { title }).toString()}`, {
      headers: { 'content-type': 'text/html; charset=utf-8' },
    });
  },
};
