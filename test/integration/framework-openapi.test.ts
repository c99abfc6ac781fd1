// The API description of packages/worker before independent judges: a validator, and a client generated from it that is
// compiled by another TypeScript and run against the app.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { platform } from '#packages/worker/index.ts';
import { skipPackages } from '#test/setup/packages.ts';
import { app } from '#test/unit/packages/worker/app.ts';

const packages = join(import.meta.dirname, '../packages/node_modules');

async function description(): Promise<Record<string, unknown>> {
  const response = await app.fetch(new Request('http://app.localhost/openapi.json'), {});
  return (await response.json()) as Record<string, unknown>;
}

/** An installed package of test/packages. */
function load<T>(file: string): Promise<T> {
  return import(pathToFileURL(join(packages, file)).href) as Promise<T>;
}

test('an independent validator accepts the description', { skip: skipPackages }, async () => {
  interface Validating {
    Validator: new () => {
      validate(document: unknown): Promise<{ valid: boolean; errors?: unknown }>;
      version: string;
    };
  }
  const { Validator } = await load<Validating>('@seriousme/openapi-schema-validator/index.js');
  const validator = new Validator();
  const { valid, errors } = await validator.validate(await description());
  assert.ok(valid, JSON.stringify(errors));
  assert.equal(validator.version, '3.1');
  const broken = await new Validator().validate({
    ...(await description()),
    paths: { '/x': { get: { responses: { 200: {} } } } },
  });
  assert.equal(broken.valid, false);
});

test('valibot schemas are described through their own package', { skip: skipPackages }, async () => {
  const { toJsonSchema } = await load<{ toJsonSchema(schema: never): object }>(
    '@valibot/to-json-schema/dist/index.mjs',
  );
  const v = await load<typeof import('valibot')>('valibot/dist/index.mjs');
  const made = platform()
    .openapi({
      path: '/openapi.json',
      info: { title: 'x', version: '1' },
      toJsonSchema: (schema) => toJsonSchema(schema),
    })
    .post('/', { body: v.object({ name: v.string(), age: v.optional(v.number()) }) }, () => 'x')
    .build();
  const response = await made.fetch(new Request('http://x/openapi.json'), {});
  const { paths } = (await response.json()) as {
    paths: Record<string, { post: { requestBody: { content: Record<string, { schema: unknown }> } } }>;
  };
  assert.deepEqual(paths['/']!.post.requestBody.content['application/json']!.schema, {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'number' } },
    required: ['name'],
  });
});

const program = `
import createClient from 'openapi-fetch';
import type { paths } from './schema.d.ts';

type Fetch = (request: Request) => Promise<Response>;

export async function run(fetch: Fetch): Promise<unknown[]> {
  const api = createClient<paths>({ baseUrl: 'http://app.localhost', fetch });
  const found = await api.GET('/users/{id}', { params: { path: { id: 1 } } });
  const name: string | undefined = found.data?.name;
  const missing = await api.GET('/users/{id}', { params: { path: { id: 5 } } });
  const error: string | undefined = missing.error?.error;
  const list = await api.GET('/users', { params: { query: { q: 'A', tag: ['a', 'b'], limit: 5 } } });
  const made = await api.POST('/users', { body: { name: 'Grace' } });
  const id: number | undefined = made.data?.id;
  const tree = await api.PUT('/trees', { body: { name: 'a', children: [{ name: 'b', children: [] }] } });
  const child: string | undefined = tree.data?.children[0]?.name;
  const gone = await api.DELETE('/users/{id}', { params: { path: { id: 1 } } });
  // @ts-expect-error the name is a string
  await api.POST('/users', { body: { name: 5 } });
  return [name, error, list.data?.map((user) => user.id), id, child, gone.response.status];
}
`;

test('a client generated from the description compiles and works', { skip: skipPackages }, async (t) => {
  interface Generator {
    default(document: unknown): Promise<unknown>;
    astToString(ast: unknown): string;
  }
  const { default: generate, astToString } = await load<Generator>('openapi-typescript/dist/index.mjs');
  const folder = await mkdtemp(join(tmpdir(), 'generated-client-'));
  t.after(() => rm(folder, { recursive: true }));
  await symlink(packages, join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await writeFile(join(folder, 'schema.d.ts'), astToString(await generate(await description())));
  await writeFile(join(folder, 'program.ts'), program);
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable'],
    module: 'nodenext',
    moduleResolution: 'nodenext',
    types: [],
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }));
  assert.equal(await compile(folder), '');
  const { run } = (await import(pathToFileURL(join(folder, 'program.ts')).href)) as {
    run(fetch: (request: Request) => Promise<Response>): Promise<unknown[]>;
  };
  assert.deepEqual(await run(async (request) => app.fetch(request, {})), ['Ada', 'No such user', [1], 2, 'b', 204]);
});

/** What the TypeScript of test/packages says; empty when it is content. */
function compile(folder: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(packages, 'typescript/bin/tsc'), '-p', folder], (error, stdout, stderr) => {
      resolve(error === null ? '' : stdout + stderr || error.message);
    });
  });
}
