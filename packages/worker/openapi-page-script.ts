// The script of the page that shows an API description: groups, search, requests with a token, code samples. The script
// builds the page with properties of elements, never from HTML. After a change, run `node cli/run.mjs :openapi`.

export const script = String.raw`
const make = (name, given, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(given ?? {}))
    if (key.includes('-')) element.setAttribute(key, value);
    else element[key] = value;
  element.append(...children);
  return element;
};
const text = (name, textContent, className) => make(name, { textContent, ...(className && { className }) });
// A sentence with code between backticks.
const rich = (name, words) => make(name, null, ...words.split('\x60').map((part, at) => (at % 2 ? text('code', part) : part)));
// Long blocks scroll, so the keyboard must be able to reach them.
const code = (textContent) => make('pre', { textContent, tabIndex: 0 });
const api = await (await fetch(document.body.dataset.document)).json();
const origin = new URL(api.servers?.[0]?.url ?? '/', location.href).href.replace(/\/$/, '');

// Schemas
const nameOf = (schema) => schema.$ref?.split('/').pop();
const schemaOf = (schema) => {
  for (let depth = 0; typeof schema?.$ref === 'string' && depth < 9; depth++) schema = api.components.schemas[nameOf(schema)];
  return schema ?? {};
};
const example = (given, depth = 0) => {
  const s = schemaOf(given);
  if ('example' in s) return s.example;
  if (Array.isArray(s.examples) && s.examples.length > 0) return s.examples[0];
  if ('default' in s) return s.default;
  if ('const' in s) return s.const;
  if (s.enum) return s.enum[0];
  if (depth > 6) return null;
  const any = s.anyOf ?? s.oneOf;
  if (any) return example(any[0], depth + 1);
  if (s.allOf) return Object.assign({}, ...s.allOf.map((part) => example(part, depth + 1)));
  const type = Array.isArray(s.type) ? s.type[0] : s.type;
  if (type === 'object')
    return Object.fromEntries(
      Object.entries(s.properties ?? {})
        .filter(([key]) => s.required?.includes(key))
        .map(([key, value]) => [key, example(value, depth + 1)]),
    );
  if (type === 'array') return (s.prefixItems ?? (s.items ? [s.items] : [])).map((item) => example(item, depth + 1));
  return { string: '', integer: 0, number: 0, boolean: false, null: null }[type] ?? null;
};
const notesOf = (given) => {
  const s = { ...schemaOf(given), ...given };
  const bound = (value) => (Math.abs(value) === Number.MAX_SAFE_INTEGER ? undefined : value);
  const range = (least, most, unit) => {
    if (least === undefined && most === undefined) return '';
    if (most === undefined) return 'at least ' + least + unit;
    return (least === undefined ? 'at most ' : least + ' to ') + most + unit;
  };
  return [
    s.description,
    s.format,
    range(bound(s.minimum), bound(s.maximum), ''),
    range(s.minLength, s.maxLength, ' characters'),
    range(s.minItems, s.maxItems, ' items'),
    s.default === undefined ? '' : 'default ' + JSON.stringify(s.default),
  ]
    .filter((note) => note)
    .join('; ')
    .replace(/\s+/g, ' ');
};
// Describes a schema in the notation of TypeScript.
const typeOf = (given, indent = '', seen = []) => {
  const name = nameOf(given);
  if (name && (seen.includes(name) || seen.length > 4)) return name;
  const s = schemaOf(given);
  const below = name ? [...seen, name] : seen;
  const of = (part, more = '') => typeOf(part, indent + more, below);
  const all = (parts, sign) => [...new Set(parts.map((part) => of(part)))].join(sign);
  if ('const' in s) return JSON.stringify(s.const);
  if (s.enum) return s.enum.map((one) => JSON.stringify(one)).join(' | ');
  if (s.anyOf ?? s.oneOf) return all(s.anyOf ?? s.oneOf, ' | ');
  if (s.allOf) return all(s.allOf, ' & ');
  if (Array.isArray(s.type)) return all(s.type.map((type) => ({ ...s, type })), ' | ');
  if (s.type === 'array') {
    if (s.prefixItems) return '[' + s.prefixItems.map((item) => of(item)).join(', ') + ']';
    const item = s.items ? of(s.items) : 'unknown';
    return (item.includes(' | ') && !item.startsWith('{') ? '(' + item + ')' : item) + '[]';
  }
  if (s.properties) {
    const lines = Object.entries(s.properties).map(([key, part]) => {
      const notes = notesOf(part);
      const mark = s.required?.includes(key) ? '' : '?';
      return indent + '  ' + key + mark + ': ' + of(part, '  ') + (notes ? '  // ' + notes : '') + '\n';
    });
    return lines.length === 0 ? '{}' : '{\n' + lines.join('') + indent + '}';
  }
  if (s.type === 'object')
    return typeof s.additionalProperties === 'object' ? 'Record<string, ' + of(s.additionalProperties) + '>' : 'object';
  return { integer: 'number' }[s.type] ?? s.type ?? 'unknown';
};

// Credentials: kept until the page is left.
const credentials = Object.entries(api.components?.securitySchemes ?? {}).flatMap(([name, scheme]) => {
  const isBearer = scheme.type === 'http' && scheme.scheme === 'bearer';
  if (!isBearer && !(scheme.type === 'apiKey' && scheme.in === 'header')) return [];
  const input = make('input', { type: 'password', autocomplete: 'off', spellcheck: false });
  const header = isBearer ? 'authorization' : scheme.name;
  return [{ name, header, prefix: isBearer ? 'Bearer ' : '', input, description: scheme.description }];
});
const securityOf = (op) => op.security ?? api.security ?? [];
const credentialsOf = (op) => {
  const names = securityOf(op).flatMap((requirement) => Object.keys(requirement));
  return credentials.filter(({ name }) => names.includes(name));
};
const accessOf = (op) => {
  if (op.security === undefined && api.security === undefined) return '';
  const needed = securityOf(op).flatMap((requirement) =>
    Object.entries(requirement).flatMap(([name, scopes]) => (scopes.length > 0 ? scopes : [name])),
  );
  return needed.length === 0 ? 'Open to everybody' : 'Requires ' + [...new Set(needed)].join(' or ');
};

// Requests
const requestOf = ({ method, path, op, fields, body, type }) => {
  let target = path;
  const query = new URLSearchParams();
  const headers = {};
  for (const { parameter, input } of fields) {
    const { name } = parameter;
    const { value } = input;
    if (value === '') continue;
    if (parameter.in === 'path') target = target.replace('{' + name + '}', encodeURIComponent(value));
    else if (parameter.in === 'header') headers[name] = value;
    else for (const one of schemaOf(parameter.schema).type === 'array' ? value.split(',') : [value]) query.append(name, one);
  }
  if (type) headers['content-type'] = type;
  const isForm = type === 'application/x-www-form-urlencoded';
  const search = query.toString();
  return {
    method,
    path: target + (search ? '?' + search : ''),
    headers,
    body: body === null ? undefined : isForm ? () => new URLSearchParams(JSON.parse(body.value)).toString() : () => body.value,
    secrets: credentialsOf(op),
  };
};
const quoted = (value) => "'" + value.replaceAll("'", "'\\''") + "'";
const bodyOf = ({ body }) => {
  try {
    return body?.() ?? null;
  } catch {
    return null;
  }
};
const samples = {
  curl(request) {
    const { method, path, headers, secrets } = request;
    const body = bodyOf(request);
    return [
      'curl ' + (method === 'GET' ? '' : '-X ' + method + ' ') + quoted(origin + path),
      ...secrets.slice(0, 1).map(({ header, prefix }) => '-H "' + header + ': ' + prefix + '$TOKEN"'),
      ...Object.entries(headers).map(([name, value]) => '-H ' + quoted(name + ': ' + value)),
      ...(body === null ? [] : ['-d ' + quoted(body)]),
    ].join(' \\\n  ');
  },
  fetch(request) {
    const { method, path, headers, secrets } = request;
    const body = bodyOf(request);
    const lines = [
      ...secrets.slice(0, 1).map(({ header, prefix }) => JSON.stringify(header) + ': ' + (prefix ? "'" + prefix + "' + " : '') + 'token'),
      ...Object.entries(headers).map(([name, value]) => JSON.stringify(name) + ': ' + JSON.stringify(value)),
    ];
    const options = [
      ...(method === 'GET' ? [] : ["  method: '" + method + "',"]),
      ...(lines.length === 0 ? [] : ['  headers: { ' + lines.join(', ') + ' },']),
      ...(body === null
        ? []
        : ['  body: ' + (headers['content-type'] === 'application/json' ? 'JSON.stringify(' + body.replaceAll('\n', '\n  ') + ')' : JSON.stringify(body)) + ',']),
    ];
    return (
      'const response = await fetch(' + JSON.stringify(origin + path) +
      (options.length === 0 ? '' : ', {\n' + options.join('\n') + '\n}') +
      ');\nconsole.log(response.status, await response.text());'
    );
  },
  ...(api['x-cli'] && {
    CLI(request) {
      const body = bodyOf(request);
      return api['x-cli'] + ' ' + request.method + ' ' + quoted(request.path) + (body === null ? '' : ' --body ' + quoted(body));
    },
  }),
};
let shownSample = 'curl';
const TEXT_CHARS_MAX = 500000;
const send = async (request, answer, signal) => {
  const headers = new Headers(request.headers);
  for (const { header, prefix, input } of request.secrets) if (input.value !== '') headers.set(header, prefix + input.value);
  const began = performance.now();
  const response = await fetch(origin + request.path, { method: request.method, headers, body: request.body?.(), signal });
  const ms = Math.round(performance.now() - began);
  const received = code('');
  const fields = [...response.headers].map(([name, value]) => name + ': ' + value + '\n').join('');
  answer.replaceChildren(
    text('p', (response.status + ' ' + response.statusText).trim() + ' in ' + ms + ' ms'),
    make('details', null, text('summary', 'Headers'), code(fields)),
    received,
  );
  // Event streams are shown while they arrive.
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
    received.textContent += decoder.decode(part.value, { stream: true });
    if (received.textContent.length > TEXT_CHARS_MAX) {
      received.textContent += '\n... and more';
      await reader.cancel();
      break;
    }
  }
  try {
    received.textContent = JSON.stringify(JSON.parse(received.textContent), null, 2);
  } catch {}
};

// Operations
const fieldOf = (parameter) => {
  const { name, required, schema } = parameter;
  const choices = schemaOf(schema).enum;
  const first = example(schema);
  const input = choices
    ? make('select', null, ...(required ? [] : [make('option', { value: '' })]), ...choices.map((one) => make('option', { value: String(one), textContent: String(one) })))
    : make('input', { spellcheck: false, autocomplete: 'off' });
  if (required) input.required = true;
  if (required && first !== null) input.value = String(first);
  const notes = [parameter.in, choices ? '' : typeOf(schema ?? {}), parameter.description, notesOf(schema ?? {})];
  const label = make('label', { className: 'field' }, name + (required ? ' * ' : ' '), text('span', notes.filter((note) => note).join('; '), 'soft'), input);
  return { parameter, input, label };
};
const inside = ({ method, path, op }) => {
  const fields = (op.parameters ?? []).map(fieldOf);
  const types = Object.keys(op.requestBody?.content ?? {});
  const schema = types.length > 0 ? op.requestBody.content[types[0]].schema : null;
  const body = schema === null ? null : make('textarea', { spellcheck: false });
  if (body !== null) body.value = types[0].startsWith('text/') ? '' : JSON.stringify(example(schema), null, 2);
  const operation = { method, path, op, fields, body, type: types[0] };
  const sample = code('');
  const show = () => {
    sample.textContent = samples[shownSample](requestOf(operation));
    for (const { name, button } of choices) button.setAttribute('aria-pressed', String(name === shownSample));
  };
  const choices = Object.keys(samples).map((name) => {
    const button = make('button', { type: 'button', textContent: name });
    button.addEventListener('click', () => {
      shownSample = name;
      show();
    });
    return { name, button };
  });
  const copy = make('button', { type: 'button', textContent: 'Copy' });
  copy.addEventListener('click', async () => {
    await navigator.clipboard.writeText(sample.textContent);
    copy.textContent = 'Copied';
  });
  const stop = make('button', { type: 'button', textContent: 'Stop', hidden: true });
  const answer = make('div', { className: 'whole', 'aria-live': 'polite' });
  let asking = null;
  stop.addEventListener('click', () => asking?.abort());
  const form = make(
    'form',
    null,
    ...fields.map(({ label }) => label),
    ...(body === null
      ? []
      : [
          make('label', { className: 'field' }, 'Body ', text('span', types.join(', '), 'soft'), body),
          make('details', { open: true }, text('summary', 'Schema of the body'), code(typeOf(schema))),
        ]),
    make('div', { className: 'buttons' }, make('button', { type: 'submit', textContent: 'Send' }), stop),
  );
  form.addEventListener('input', show);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    asking?.abort();
    const sending = new AbortController();
    asking = sending;
    stop.hidden = false;
    answer.replaceChildren(text('p', 'Waiting ...'));
    try {
      await send(requestOf(operation), answer, sending.signal);
    } catch (error) {
      answer.append(text('p', sending.signal.aborted ? 'Stopped' : String(error)));
    }
    if (asking === sending) stop.hidden = true;
  });
  const answers = Object.entries(op.responses ?? {}).map(([status, response]) => {
    const answered = response.content?.['application/json']?.schema;
    const title = status + ' ' + response.description;
    return answered ? make('details', null, text('summary', title), code(typeOf(answered))) : text('p', title);
  });
  const access = accessOf(op);
  const box = make(
    'div',
    { className: 'inside' },
    make('div', { className: 'whole' }, ...(op.description ? [rich('p', op.description)] : []), ...(access ? [text('p', access, 'soft')] : [])),
    make('div', null, text('h3', 'Request'), form),
    make(
      'div',
      null,
      text('h3', 'Code'),
      make('div', { className: 'buttons' }, ...choices.map(({ button }) => button), ...(navigator.clipboard ? [copy] : [])),
      sample,
      text('h3', 'Responses'),
      ...answers,
    ),
    answer,
  );
  show();
  return box;
};
// Without a tag, the group is the collection in the path, such as posts of /users/{id}/posts/{post}.
const isTagged = Object.values(api.paths).some((methods) => Object.values(methods).some((op) => op.tags?.length > 0));
const groupOf = (path, op) => {
  if (op.tags?.length > 0 || !isTagged) return op.tags?.[0] ?? 'Operations';
  const [first, id, second] = path.split('/').slice(1);
  return (id?.startsWith('{') && second) || first || 'Operations';
};
const groups = new Map();
for (const [path, methods] of Object.entries(api.paths))
  for (const [name, op] of Object.entries(methods)) {
    const tag = groupOf(path, op);
    const method = name.toUpperCase();
    const details = make(
      'details',
      { className: op.deprecated ? 'operation deprecated' : 'operation', id: op.operationId ?? '' },
      make('summary', null, make('b', { textContent: method, className: method }), text('code', path), rich('span', op.summary ?? '')),
    );
    details.addEventListener('toggle', () => {
      if (!details.open) return;
      if (details.children.length === 1) details.append(inside({ method, path, op }));
      history.replaceState(null, '', '#' + details.id);
    });
    const words = [method, path, tag, op.summary, op.description, op.operationId].join(' ').toLowerCase();
    groups.set(tag, [...(groups.get(tag) ?? []), { details, words }]);
  }

// The page
const all = [...groups].map(([tag, operations]) => {
  const section = make('section', { id: 'group-' + tag }, text('h2', tag), ...operations.map(({ details }) => details));
  const count = text('span', String(operations.length), 'soft');
  const link = make('li', null, make('a', { href: '#group-' + tag }, tag, count));
  return { section, operations, link, count };
});
const total = all.reduce((sum, { operations }) => sum + operations.length, 0);
const found = make('p', { className: 'soft', 'aria-live': 'polite', textContent: total + ' operations' });
const search = make('input', { type: 'search', placeholder: 'Path, word or method', spellcheck: false, autocomplete: 'off' });
search.addEventListener('input', () => {
  const words = search.value.toLowerCase().split(/\s+/);
  let shown = 0;
  for (const { section, operations, link, count } of all) {
    const fitting = operations.filter((one) => words.every((word) => one.words.includes(word)));
    for (const one of operations) one.details.hidden = !fitting.includes(one);
    section.hidden = link.hidden = fitting.length === 0;
    count.textContent = String(fitting.length);
    shown += fitting.length;
  }
  found.textContent = shown === total ? total + ' operations' : shown + ' of ' + total + ' operations';
});
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || /^(?:INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  event.preventDefault();
  search.focus();
});
document.body.append(
  make(
    'header',
    null,
    make('h1', null, api.info.title + ' ', text('small', api.info.version)),
    ...(api.info.description ? [text('p', api.info.description)] : []),
    make('p', null, make('a', { href: document.body.dataset.document, textContent: 'OpenAPI description' })),
  ),
  make(
    'div',
    { className: 'bar', role: 'search' },
    make('label', null, 'Search ( / )', search),
    ...credentials.map(({ name, input, description }) => make('label', { title: description ?? '' }, name[0].toUpperCase() + name.slice(1), input)),
  ),
  make(
    'div',
    { className: 'columns' },
    make('nav', { 'aria-label': 'Groups' }, make('ul', null, ...all.map(({ link }) => link))),
    make('main', null, found, ...all.map(({ section }) => section)),
  ),
);
const open = () => {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.tagName === 'DETAILS') target.open = true;
  target.scrollIntoView();
};
addEventListener('hashchange', open);
open();
`;
