// The API description of packages/worker, and the page that shows it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { z } from 'zod';
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

/** As much of a page's element as page.js uses. */
class PageElement {
  readonly children: unknown[] = [];
  readonly listeners: Record<string, () => unknown> = {};
  readonly dataset = { document: '/openapi.json' };
  textContent = '';
  value = '';
  open = false;
  readonly tag: string;

  constructor(tag: string) {
    this.tag = tag;
  }
  append(...parts: unknown[]): void {
    this.children.push(...parts);
  }
  replaceChildren(...parts: unknown[]): void {
    this.children.splice(0, Infinity, ...parts);
  }
  addEventListener(name: string, listener: () => unknown): void {
    this.listeners[name] = listener;
  }
  /** Itself and all below it. */
  all(): PageElement[] {
    return [this, ...this.children.flatMap((child) => (child instanceof PageElement ? child.all() : []))];
  }
}

test('the script of the page lists the routes, and sends what is filled in', async () => {
  const script = (await call(app, 'GET /docs/page.js')).text;
  const body = new PageElement('body');
  const asked: string[] = [];
  const fetchApp = async (target: string, init?: RequestInit): Promise<Response> => {
    const url = new URL(target, 'http://app.localhost');
    if (init !== undefined) asked.push(`${init.method} ${url.pathname}${url.search} ${String(init.body)}`);
    return app.fetch(new Request(url, init), {});
  };
  const AsyncFunction = (async () => {}).constructor as new (
    ...words: string[]
  ) => (...values: unknown[]) => Promise<void>;
  await new AsyncFunction('document', 'fetch', script)(
    { body, createElement: (tag: string) => new PageElement(tag) },
    fetchApp,
  );
  const operations = body.all().filter(({ tag, listeners }) => tag === 'details' && listeners['toggle'] !== undefined);
  assert.equal(operations.length, 13);
  const add = operations.find((element) =>
    element.all().some(({ tag, textContent }) => tag === 'b' && textContent === 'POST'),
  )!;
  add.open = true;
  add.listeners['toggle']!();
  const area = add.all().find(({ tag }) => tag === 'textarea')!;
  assert.deepEqual(JSON.parse(area.value), { name: '', email: '' });
  area.value = '{"name":"Grace"}';
  await add.all().find(({ tag }) => tag === 'button')!.listeners['click']!();
  assert.deepEqual(asked, ['POST /users {"name":"Grace"}']);
  assert.ok(
    add.all().some(({ textContent }) => textContent.startsWith('201')),
    'the answer is shown',
  );
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
