// The page that shows an API description: three small files from the app itself, nothing external. It builds
// everything with `textContent`, and its content security policy allows no inline script.

/** The routes of the page: pattern below the app, and handler. @param document path of the description, for clients. */
export function pageRoutes(path: string, document: string, title: string, prefix: string): [string, () => Response][] {
  const base = path === '/' ? '' : path;
  const at = `${prefix}${base}`;
  const policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src *; img-src data:; base-uri 'none'; form-action 'none'";
  const file = (text: string, type: string) => (): Response =>
    new Response(text, {
      headers: {
        'content-type': `${type}; charset=utf-8`,
        'content-security-policy': policy,
        'x-content-type-options': 'nosniff',
      },
    });
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="stylesheet" href="${escapeHtml(at)}/page.css">
<body data-document="${escapeHtml(document)}">
<noscript>This page needs JavaScript. The description itself is at ${escapeHtml(document)}.</noscript>
<script type="module" src="${escapeHtml(at)}/page.js"></script>
`;
  return [
    [path, file(html, 'text/html')],
    [`${base}/page.css`, file(style, 'text/css')],
    [`${base}/page.js`, file(script, 'text/javascript')],
  ];
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`);
}

const style = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 small { font-weight: normal; opacity: .6; }
h2 { margin: 2rem 0 .5rem; font-size: 1.1rem; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; }
summary { cursor: pointer; padding: .5rem .7rem; display: flex; gap: .7rem; align-items: baseline; flex-wrap: wrap; }
summary b { font: bold 12px ui-monospace, monospace; min-width: 4rem; }
summary code { font-size: 14px; }
summary span { opacity: .7; }
.deprecated code { text-decoration: line-through; }
.inside { padding: 0 .7rem .7rem; border-top: 1px solid var(--line); }
pre, textarea, input { font: 13px/1.45 ui-monospace, monospace; }
pre { overflow: auto; max-height: 24rem; background: color-mix(in srgb, currentColor 6%, transparent); padding: .6rem; border-radius: 6px; }
label { display: grid; grid-template-columns: 14rem 1fr; gap: .5rem; margin: .25rem 0; align-items: center; }
label small { opacity: .6; }
textarea { width: 100%; min-height: 7rem; box-sizing: border-box; }
button { margin: .6rem 0; padding: .3rem .9rem; }
h3 { font-size: .95rem; margin: .8rem 0 .2rem; }
`;

const script = `
const make = (name, text, ...children) => {
  const element = document.createElement(name);
  if (text !== undefined && text !== null) element.textContent = text;
  element.append(...children);
  return element;
};
const show = (value) => make('pre', typeof value === 'string' ? value : JSON.stringify(value, null, 2));
let api;
const resolve = (schema, depth = 0) => {
  if (schema === null || typeof schema !== 'object' || depth > 6) return schema;
  if (Array.isArray(schema)) return schema.map((item) => resolve(item, depth + 1));
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.split('/').pop();
    return depth > 4 ? { $ref: name } : resolve(api.components.schemas[name], depth + 1);
  }
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, resolve(value, depth + 1)]));
};
const example = (schema) => {
  const s = schema ?? {};
  if ('example' in s) return s.example;
  if (Array.isArray(s.examples) && s.examples.length > 0) return s.examples[0];
  if ('default' in s) return s.default;
  if ('const' in s) return s.const;
  if (s.enum) return s.enum[0];
  const any = s.anyOf ?? s.oneOf;
  if (any) return example(any[0]);
  if (s.allOf) return Object.assign({}, ...s.allOf.map(example));
  const type = Array.isArray(s.type) ? s.type[0] : s.type;
  if (type === 'object') return Object.fromEntries(Object.entries(s.properties ?? {}).map(([key, value]) => [key, example(value)]));
  if (type === 'array') return (s.prefixItems ?? (s.items ? [s.items] : [])).map(example);
  return { string: '', integer: 0, number: 0, boolean: false, null: null }[type] ?? null;
};
const operation = (method, path, op) => {
  const details = make('details');
  const heading = make('summary', null, make('b', method.toUpperCase()), make('code', path), make('span', op.summary ?? ''));
  if (op.deprecated) details.className = 'deprecated';
  details.append(heading);
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(inside(method, path, op));
  });
  return details;
};
const inside = (method, path, op) => {
  const box = make('div');
  box.className = 'inside';
  if (op.description) box.append(make('p', op.description));
  const fields = [];
  for (const parameter of op.parameters ?? []) {
    const input = make('input');
    const value = example(resolve(parameter.schema));
    if (parameter.required && value !== null) input.value = String(value);
    const note = make('span', parameter.name + (parameter.required ? ' *' : '') + ' ', make('small', parameter.in));
    if (parameter.description) note.title = parameter.description;
    box.append(make('label', null, note, input));
    fields.push({ parameter, input });
  }
  const types = Object.keys(op.requestBody?.content ?? {});
  let body = null;
  if (types.length > 0) {
    const schema = resolve(op.requestBody.content[types[0]].schema);
    body = make('textarea');
    body.value = types[0].startsWith('text/') ? '' : JSON.stringify(example(schema), null, 2);
    box.append(make('h3', 'Body: ' + types.join(', ')), body, make('details', null, make('summary', 'Schema'), show(schema)));
  }
  const button = make('button', 'Send');
  const answer = make('div');
  button.addEventListener('click', async () => {
    answer.replaceChildren(make('p', 'Waiting...'));
    try {
      answer.replaceChildren(...(await ask(method, path, fields, body, types[0])));
    } catch (error) {
      answer.replaceChildren(make('p', String(error)));
    }
  });
  box.append(button, answer, make('h3', 'Answers'));
  for (const [status, response] of Object.entries(op.responses)) {
    const schema = response.content?.['application/json']?.schema;
    box.append(make('p', status + ' ' + response.description));
    if (schema) box.append(make('details', null, make('summary', 'Schema'), show(resolve(schema))));
  }
  return box;
};
const ask = async (method, path, fields, body, type) => {
  let target = path;
  const query = new URLSearchParams();
  const headers = new Headers();
  for (const { parameter, input } of fields) {
    if (parameter.in === 'path') target = target.replace('{' + parameter.name + '}', encodeURIComponent(input.value));
    else if (input.value === '') continue;
    else if (parameter.in === 'query') for (const value of input.value.split(',')) query.append(parameter.name, value);
    else headers.set(parameter.name, input.value);
  }
  let sent = body?.value;
  if (type) headers.set('content-type', type);
  if (type === 'application/x-www-form-urlencoded') sent = new URLSearchParams(JSON.parse(sent)).toString();
  const base = (api.servers?.[0]?.url ?? '').replace(/\\/$/, '');
  const text = query.toString();
  const response = await fetch(base + target + (text ? '?' + text : ''), { method: method.toUpperCase(), headers, body: sent });
  const received = await response.text();
  let value = received;
  try { value = JSON.parse(received); } catch {}
  return [make('p', response.status + ' ' + response.statusText), show(value)];
};
api = await (await fetch(document.body.dataset.document)).json();
document.body.append(make('h1', api.info.title + ' ', make('small', api.info.version)));
if (api.info.description) document.body.append(make('p', api.info.description));
const groups = new Map();
for (const [path, methods] of Object.entries(api.paths))
  for (const [method, op] of Object.entries(methods)) {
    const tag = op.tags?.[0] ?? '';
    if (!groups.has(tag)) groups.set(tag, []);
    groups.get(tag).push(operation(method, path, op));
  }
for (const [tag, list] of groups) {
  if (tag !== '') document.body.append(make('h2', tag));
  document.body.append(...list);
}
`;
