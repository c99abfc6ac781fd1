// The API description of packages/worker, and the page that shows it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { z } from 'zod';
import { pageFiles } from '#cli/tasks/openapi.ts';
import { platform } from '#packages/worker/index.ts';
import { app } from './app.ts';
import { call } from './call.ts';

interface Document {
  readonly openapi: string;
  readonly info: unknown;
  readonly paths: Record<string, Record<string, Record<string, unknown>>>;
  readonly components: { schemas: Record<string, unknown>; securitySchemes?: unknown };
}

async function describe(of: Parameters<typeof call>[0], path = '/openapi.json'): Promise<Document> {
  const answer = await call(of, `GET ${path}`);
  assert.equal(answer.headers.get('content-type'), 'application/json');
  return answer.json as Document;
}

test('the description names every route but hidden ones, with parameters, bodies and answers', async () => {
  const { openapi, info, paths, components } = await describe(app);
  assert.equal(openapi, '3.1.0');
  assert.deepEqual(info, { title: 'Users', version: '1.0.0', description: 'Everything at once' });
  assert.deepEqual(
    Object.entries(paths).map(([path, methods]) => `${path} ${Object.keys(methods).join(' ')}`),
    [
      '/users get post',
      '/users/{id} get delete',
      '/trees put',
      '/mixed patch',
      '/forms post',
      '/files/{wildcard} get',
      '/pages get',
      '/pages/{page} get',
      '/dates get',
      '/broken get',
      '/admin/stats get',
    ],
  );
  const list = paths['/users']!['get']!;
  assert.equal(list['operationId'], 'getUsers');
  assert.deepEqual(list['parameters'], [
    { name: 'q', in: 'query', schema: { type: 'string' } },
    { name: 'tag', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
    {
      name: 'limit',
      in: 'query',
      schema: { default: 10, type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 },
    },
  ]);
  const add = paths['/users']!['post']!;
  assert.deepEqual(Object.keys(add['responses'] as object), ['201', '400', '409', '413', '415']);
  assert.deepEqual(add['security'], [{ token: [] }]);
  assert.deepEqual((paths['/users/{id}']!['get']!['responses'] as Record<string, unknown>)['200'], {
    description: 'OK',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/User' } } },
  });
  assert.deepEqual(paths['/users/{id}']!['delete']!['parameters'], [
    { name: 'id', in: 'path', required: true, schema: { type: 'integer' } },
  ]);
  assert.deepEqual((paths['/users/{id}']!['delete']!['responses'] as Record<string, unknown>)['204'], {
    description: 'Nothing',
  });
  assert.deepEqual(Object.keys((paths['/forms']!['post']!['requestBody'] as { content: object }).content), [
    'application/x-www-form-urlencoded',
    'multipart/form-data',
  ]);
  assert.deepEqual(components.securitySchemes, { token: { type: 'http', scheme: 'bearer' } });
});

test('every reference leads somewhere, and recursive schemas become components', async () => {
  const document = await describe(app);
  const text = JSON.stringify(document);
  const references = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!);
  assert.ok(references.length > 5);
  for (const reference of references) {
    assert.match(reference, /^#\/components\/schemas\//);
    assert.ok(reference.split('/').at(-1)! in document.components.schemas, reference);
  }
  assert.doesNotMatch(text, /\$defs|"\$id"|"\$schema"/);
  const body = document.paths['/trees']!['put']!['requestBody'] as {
    content: Record<string, { schema: { $ref: string } }>;
  };
  const name = body.content['application/json']!.schema.$ref.split('/').at(-1)!;
  assert.match(
    JSON.stringify(document.components.schemas[name]),
    new RegExp(`"children":\\{"type":"array","items":\\{"\\$ref":"#/components/schemas/${name}"\\}\\}`),
  );
});

test('two schemas of one name and different content are two components', async () => {
  const one = z.object({ a: z.string() }).meta({ id: 'Thing' });
  const two = Type.Object({ b: Type.String() }, { $id: 'Thing' });
  const made = platform()
    .openapi({ path: '/openapi.json', info: { title: 'x', version: '1' } })
    .get('/one', { response: z.object({ thing: one }) }, () => ({ thing: { a: '' } }))
    .get('/again', { response: z.object({ thing: one }) }, () => ({ thing: { a: '' } }))
    .get('/two', { response: two }, () => ({ b: '' }))
    .build();
  const { components } = await describe(made);
  assert.deepEqual(Object.keys(components.schemas).sort(), ['Thing', 'Thing_2']);
});

test('what a schema cannot tell is left open, or asked of toJsonSchema', async () => {
  const silent = { '~standard': { version: 1, vendor: 'own', validate: (value: unknown) => ({ value }) } } as const;
  const make = (more: object) =>
    platform()
      .openapi({ path: '/openapi.json', info: { title: 'x', version: '1' }, ...more })
      .post('/', { body: silent, response: z.object({ at: z.date() }) }, () => ({ at: new Date(0) }))
      .build();
  const schemaOf = (document: Document): unknown =>
    (document.paths['/']!['post']!['requestBody'] as { content: Record<string, { schema: unknown }> }).content[
      'application/json'
    ]!.schema;
  const open = await describe(make({}));
  assert.deepEqual(schemaOf(open), {});
  assert.deepEqual(schemaOf(await describe(make({ toJsonSchema: () => ({ type: 'string' }) }))), { type: 'string' });
});

test('the description of a mounted app is about that app', async () => {
  const inner = platform()
    .openapi({ path: '/api.json', info: { title: 'inner', version: '1' } })
    .get('/x', () => 'x');
  const outer = platform()
    .get('/y', () => 'y')
    .route('/inner', inner)
    .build();
  assert.deepEqual(Object.keys((await describe(outer, '/inner/api.json')).paths), ['/inner/x']);
});

test('the page brings its own files, allows no inline script and escapes what it is given', async () => {
  const page = await call(app, 'GET /docs');
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'; script-src 'self'/);
  const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
  assert.deepEqual(files, ['/docs/page.css', '/docs/page.js']);
  for (const file of files) assert.equal((await call(app, `GET ${file}`)).status, 200, file);
  assert.match(page.text, /data-document="\/openapi\.json"/);
  const nasty = platform()
    .openapi({ path: '/o', ui: '/d', info: { title: '"><script>alert(1)</script>', version: '1' } })
    .build();
  assert.doesNotMatch((await call(nasty, 'GET /d')).text, /<script>alert/);
});

test('the files of the page are those of its sources', async () => {
  const { script, style } = pageFiles();
  const say = 'packages/worker/openapi-page-files.ts is stale: run node cli/run.mjs :openapi';
  assert.ok((await call(app, 'GET /docs/page.js')).text === script, say);
  assert.ok((await call(app, 'GET /docs/page.css')).text === style, say);
});

/** As much of a page's element as page.js uses. */
class PageElement {
  readonly children: unknown[] = [];
  readonly listeners: Record<string, (event: object) => unknown> = {};
  readonly dataset = { document: '/openapi.json' };
  readonly tag: string;
  textContent = '';
  value = '';
  open = false;
  hidden = false;

  constructor(tag: string) {
    this.tag = tag;
  }
  append(...parts: unknown[]): void {
    this.children.push(...parts);
  }
  replaceChildren(...parts: unknown[]): void {
    this.children.splice(0, Infinity, ...parts);
  }
  setAttribute(): void {}
  addEventListener(name: string, listener: () => unknown): void {
    this.listeners[name] = listener;
  }
  /** Itself and all below it. */
  all(): PageElement[] {
    return [this, ...this.children.flatMap((child) => (child instanceof PageElement ? child.all() : []))];
  }
  /** The first element below it with this tag and text. */
  find(tag: string, text?: string): PageElement {
    const found = this.all().find((one) => one.tag === tag && (text === undefined || one.textContent === text));
    assert.ok(found !== undefined, `<${tag}> ${text}`);
    return found;
  }
}

/** Runs page.js of an app. @returns the body of the page, and the requests that it sends. */
async function openPage(of: Parameters<typeof call>[0]): Promise<{ body: PageElement; asked: string[] }> {
  const script = (await call(of, 'GET /docs/page.js')).text;
  const body = new PageElement('body');
  const asked: string[] = [];
  const fetchApp = async (target: string, init?: RequestInit): Promise<Response> => {
    const request = new Request(new URL(target, 'http://app.localhost'), init);
    if (init !== undefined) {
      const { pathname, search } = new URL(request.url);
      asked.push(`${request.method} ${pathname}${search} ${request.headers.get('authorization')} ${String(init.body)}`);
    }
    return of.fetch(request, {} as never);
  };
  const given = {
    document: { body, createElement: (tag: string) => new PageElement(tag), addEventListener() {} },
    fetch: fetchApp,
    location: { href: 'http://app.localhost/docs', hash: '' },
    history: { replaceState() {} },
    navigator: {},
    addEventListener() {},
  };
  const AsyncFunction = (async () => {}).constructor as new (
    ...words: string[]
  ) => (...values: unknown[]) => Promise<void>;
  await new AsyncFunction(...Object.keys(given), script)(...Object.values(given));
  return { body, asked };
}

/** Opens the operation with this method and path. */
function openOperation(body: PageElement, method: string, path: string): PageElement {
  const operation = body
    .all()
    .find(
      (one) =>
        one.listeners['toggle'] !== undefined &&
        one.all().some(({ tag, textContent }) => tag === 'b' && textContent === method) &&
        one.all().some(({ tag, textContent }) => tag === 'code' && textContent === path),
    )!;
  operation.open = true;
  operation.listeners['toggle']!({});
  return operation;
}

test('the page lists the operations by group, and finds them by words', async () => {
  const { body } = await openPage(app);
  const operations = body.all().filter(({ tag, listeners }) => tag === 'details' && listeners['toggle'] !== undefined);
  assert.equal(operations.length, 13);
  assert.deepEqual(
    body
      .find('nav')
      .all()
      .flatMap(({ tag, children }) => (tag === 'a' ? [children[0]] : [])),
    ['users', 'trees', 'mixed', 'forms', 'files', 'pages', 'dates', 'broken', 'admin'],
  );
  const search = body.find('input');
  search.value = 'get stats';
  search.listeners['input']!({});
  assert.deepEqual(
    operations.filter(({ hidden }) => !hidden).map((one) => one.find('code').textContent),
    ['/admin/stats'],
  );
  assert.ok(body.all().some(({ textContent }) => textContent === '1 of 13 operations'));
});

test('the page sends what is filled in, with the token, and shows the same as code', async () => {
  const { body, asked } = await openPage(app);
  const [, token] = body.all().filter(({ tag }) => tag === 'input');
  token!.value = 'secret';
  const add = openOperation(body, 'POST', '/users');
  const area = add.find('textarea');
  assert.deepEqual(JSON.parse(area.value), { name: '' });
  area.value = '{"name":"Grace"}';
  const form = add.find('form');
  form.listeners['input']!({});
  const code = (): string =>
    add.all().find(({ textContent }) => /^(?:curl -|const response)/.test(textContent))!.textContent;
  assert.equal(
    code(),
    [
      "curl -X POST 'http://app.localhost/users'",
      '-H "authorization: Bearer $TOKEN"',
      "-H 'content-type: application/json'",
      `-d '{"name":"Grace"}'`,
    ].join(' \\\n  '),
  );
  add.find('button', 'fetch').listeners['click']!({});
  assert.equal(
    code(),
    `const response = await fetch("http://app.localhost/users", {
  method: 'POST',
  headers: { "authorization": 'Bearer ' + token, "content-type": "application/json" },
  body: JSON.stringify({"name":"Grace"}),
});
console.log(response.status, await response.text());`,
  );
  await form.listeners['submit']!({ preventDefault() {} });
  assert.deepEqual(asked, ['POST /users Bearer secret {"name":"Grace"}']);
  assert.ok(
    add.all().some(({ textContent }) => textContent.startsWith('201')),
    'the answer is shown',
  );
});

test('schemas are shown as types, and a command of the API as a sample', async () => {
  const made = platform()
    .openapi({ path: '/openapi.json', ui: '/docs', info: { title: 'x', version: '1' }, cli: 'shop api' })
    .post(
      '/orders/:id',
      {
        query: z.object({ dry: z.string().optional() }),
        body: z.object({
          count: z.int().min(1).max(9).describe('How many'),
          size: z.enum(['s', 'm']).optional(),
          notes: z.array(z.string().nullable()),
        }),
      },
      () => 'ordered',
    )
    .build();
  const { body } = await openPage(made);
  const order = openOperation(body, 'POST', '/orders/{id}');
  assert.ok(
    order.all().some(
      ({ textContent }) =>
        textContent ===
        `{
  count: number  // How many; 1 to 9
  size?: "s" | "m"
  notes: (string | null)[]
}`,
    ),
  );
  const [id, dry] = order.all().filter(({ tag }) => tag === 'input');
  id!.value = '7 a';
  dry!.value = 'yes';
  order.find('textarea').value = '{}';
  order.find('button', 'CLI').listeners['click']!({});
  assert.ok(order.all().some(({ textContent }) => textContent === "shop api POST '/orders/7%20a?dry=yes' --body '{}'"));
});

test('extensions of a route and an own form of failures go into the description', async () => {
  const described = platform()
    .openapi({ path: '/openapi.json', info: { title: 'Own', version: '1' }, failure: { type: 'object' } })
    .get('/things/:id', { 'x-subject': 'thing' }, () => 'thing')
    .build();
  const { paths, components } = await describe(described);
  const read = paths['/things/{id}']!['get']!;
  assert.equal(read['x-subject'], 'thing');
  assert.deepEqual((read['responses'] as Record<string, unknown>)['default'], {
    description: 'Any other answer',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  });
  assert.deepEqual(components.schemas['Error'], { type: 'object' });
});
