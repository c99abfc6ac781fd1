// The OpenAPI 3.1 description of an app, from the schemas that validate its requests. `$defs` and `$id` of inline
// schemas are only valid outside of a document, so both move to `components.schemas` here, with their references.
import type { OpenApiOptions } from './app-types.ts';
import { isObject, resolveReference, type JsonSchema } from './json-document.ts';
import type { Route } from './requests.ts';
import { readPattern, type Segment } from './router.ts';
import type { Checker } from './schema.ts';

/** An OpenAPI document. */
interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: object;
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: Readonly<Record<string, unknown>>;
  readonly [member: string]: unknown;
}

const errorSchema: JsonSchema = {
  type: 'object',
  properties: {
    error: { type: 'string' },
    code: { type: 'string' },
    issues: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          path: { type: 'array', items: { type: ['string', 'integer'] } },
          message: { type: 'string' },
          in: { type: 'string' },
        },
        required: ['path', 'message', 'in'],
      },
    },
  },
  required: ['error'],
};

/** Describes routes. */
export function describeApi(routes: readonly Route[], options: OpenApiOptions): OpenApiDocument {
  const components = new Components((options.failure as JsonSchema | undefined) ?? errorSchema);
  const paths: Record<string, Record<string, unknown>> = {};
  const operationIds = new Set<string>();
  for (const { declared, pattern } of routes) {
    if (declared.options.hidden === true) continue;
    for (const segments of readPattern(pattern)) {
      const path = `/${segments.map(pathPart).join('/')}`;
      const base = declared.options.operationId ?? operationName(declared.method, segments);
      let id = base;
      for (let count = 2; operationIds.has(id); count++) id = `${base}_${count}`;
      operationIds.add(id);
      (paths[path] ??= {})[declared.method.toLowerCase()] = describeOperation(
        declared,
        segments,
        id,
        components,
        options,
      );
    }
  }
  const { info, servers, security, securitySchemes, tags, cli } = options;
  return {
    openapi: '3.1.0',
    info,
    ...(servers === undefined ? {} : { servers }),
    ...(security === undefined ? {} : { security }),
    ...(tags === undefined ? {} : { tags }),
    ...(cli === undefined ? {} : { 'x-cli': cli }),
    paths,
    components: { schemas: components.schemas, ...(securitySchemes === undefined ? {} : { securitySchemes }) },
  };
}

function pathPart(segment: Segment): string {
  if (segment.kind === 'static') return encodeURIComponent(segment.text).replaceAll('%40', '@').replaceAll('%2C', ',');
  return segment.kind === 'parameter' ? `{${segment.name}}` : '{wildcard}';
}

/** `getUsersById` for `GET /users/:id`. */
function operationName(method: string, segments: readonly Segment[]): string {
  const words = segments.flatMap((segment) => {
    const text =
      segment.kind === 'static' ? segment.text : segment.kind === 'parameter' ? `by-${segment.name}` : 'rest';
    return text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  });
  return method.toLowerCase() + words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
}

function describeOperation(
  declared: Route['declared'],
  segments: readonly Segment[],
  operationId: string,
  components: Components,
  api: OpenApiOptions,
): Record<string, unknown> {
  const { summary, description, tags, deprecated, security } = declared.options;
  const describe = (checker: Checker, io: 'input' | 'output', name: string): JsonSchema =>
    components.take(checker.describe(io, api.toJsonSchema) ?? {}, `${operationId}${name}`);
  const parameters = [
    ...pathParameters(
      declared.params === null ? null : describe(declared.params, 'input', 'Params'),
      segments,
      components,
    ),
    ...parametersIn('query', declared.query === null ? null : describe(declared.query, 'input', 'Query'), components),
    ...parametersIn(
      'header',
      declared.headers === null ? null : describe(declared.headers, 'input', 'Headers'),
      components,
    ),
  ];
  return {
    operationId,
    ...(summary === undefined ? {} : { summary }),
    ...(description === undefined ? {} : { description }),
    ...(tags === undefined ? {} : { tags }),
    ...(deprecated === undefined ? {} : { deprecated }),
    ...(security === undefined ? {} : { security }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(declared.body === null
      ? {}
      : {
          requestBody: {
            required: true,
            content: content(bodyTypes(declared), describe(declared.body, 'input', 'Body')),
          },
        }),
    responses: describeResponses(declared, operationId, components, api.failure !== undefined, describe),
    ...Object.fromEntries(Object.entries(declared.options).filter(([key]) => key.startsWith('x-'))),
  };
}

function bodyTypes({ bodyRule }: Route['declared']): string[] {
  if (bodyRule?.type === 'form') return ['application/x-www-form-urlencoded', 'multipart/form-data'];
  return [bodyRule?.type === 'text' ? 'text/plain' : 'application/json'];
}

function content(types: readonly string[], schema: JsonSchema): object {
  return Object.fromEntries(types.map((type) => [type, { schema }]));
}

function describeResponses(
  { answers, hasTexts, body }: Route['declared'],
  operationId: string,
  components: Components,
  hasOwnFailure: boolean,
  describe: (checker: Checker, io: 'output', name: string) => JsonSchema,
): Record<string, unknown> {
  const responses: Record<string, unknown> = {};
  const add = (status: string, checker: Checker | null): void => {
    const schema =
      checker === null ? null : describe(checker, 'output', status === 'default' ? 'Answer' : `Answer${status}`);
    responses[status] = {
      description: phrases[status] ?? 'The answer',
      ...(schema === null ? {} : { content: content(['application/json'], schema) }),
    };
  };
  if (answers === null) responses['200'] = { description: 'The answer' };
  else if (answers.single) add('200', answers.others);
  else {
    for (const [status, checker] of answers.byStatus) add(String(status), checker);
    if (answers.others !== null) add('default', answers.others);
  }
  const failure = (status: string): void => {
    responses[status] ??= {
      description: phrases[status],
      content: content(['application/json'], components.failure()),
    };
  };
  if (hasTexts || body !== null) failure('400');
  if (body !== null) for (const status of ['413', '415']) failure(status);
  if (hasOwnFailure) failure('default');
  return responses;
}

const phrases: Readonly<Record<string, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'Nothing',
  400: 'The request is not valid',
  401: 'Not signed in',
  403: 'Not allowed',
  404: 'Not found',
  409: 'Conflict',
  413: 'The body is too long',
  415: 'The body has another type',
  429: 'Too many requests',
  500: 'The worker failed',
  default: 'Any other answer',
};

function pathParameters(schema: JsonSchema | null, segments: readonly Segment[], components: Components): object[] {
  const declared = schema === null ? {} : components.properties(schema);
  return segments.flatMap((segment) => {
    if (segment.kind === 'static') return [];
    const [name, known] =
      segment.kind === 'parameter' ? [segment.name, declared[segment.name]] : ['wildcard', declared['*']];
    return [{ name, in: 'path', required: true, schema: known ?? { type: 'string' } }];
  });
}

function parametersIn(place: 'query' | 'header', schema: JsonSchema | null, components: Components): object[] {
  if (schema === null) return [];
  const required = new Set((components.resolve(schema)['required'] ?? []) as string[]);
  return Object.entries(components.properties(schema)).map(([name, part]) => {
    const { description, ...rest } = part;
    return {
      name,
      in: place,
      ...(required.has(name) ? { required: true } : {}),
      ...(description === undefined ? {} : { description }),
      schema: rest,
    };
  });
}

/** Builds `components.schemas`. */
class Components {
  readonly schemas: Record<string, JsonSchema> = {};
  readonly #failure: JsonSchema;

  constructor(failure: JsonSchema) {
    this.#failure = failure;
  }

  /** Converts a schema for the document: its definitions move to the components. */
  take(document: JsonSchema, fallbackName: string): JsonSchema {
    const { $schema: _dialect, $defs, definitions, $id, ...root } = document;
    const names = new Map<string, string>();
    const parts = Object.entries<JsonSchema>({ ...(definitions as object), ...($defs as object) });
    for (const [key, part] of parts) names.set(key, this.#nameFor(key, part, parts));
    const isRecursive =
      JSON.stringify(root).includes('"$ref":"#"') ||
      (typeof $id === 'string' && JSON.stringify(document).includes(JSON.stringify({ $ref: $id }).slice(1, -1)));
    const wanted = typeof $id === 'string' ? $id : null;
    const rootName = isRecursive || wanted !== null ? this.#nameFor(wanted ?? fallbackName, root, []) : null;
    const rename = (ref: string): string => {
      if (ref === '#' || ref === $id) return `#/components/schemas/${rootName}`;
      const key = /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(ref)?.[1] ?? ref.replace(/^#/, '');
      const name = names.get(decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')) ?? names.get(key);
      if (name !== undefined) return `#/components/schemas/${name}`;
      // A reference into the middle of the document: its target is copied.
      const target = resolveReference(document, ref);
      const made = this.#nameFor(`${fallbackName}Part`, target, []);
      this.schemas[made] ??= {};
      this.schemas[made] = rewrite(target, rename) as JsonSchema;
      return `#/components/schemas/${made}`;
    };
    for (const [key, part] of parts) this.schemas[names.get(key)!] = rewrite(part, rename) as JsonSchema;
    const made = rewrite(root, rename) as JsonSchema;
    if (rootName === null) return made;
    this.schemas[rootName] = made;
    return { $ref: `#/components/schemas/${rootName}` };
  }

  // The same name with the same content is the same component; different content gets another name.
  readonly #contents = new Map<string, string>();
  #nameFor(wanted: string, part: JsonSchema, siblings: readonly (readonly [string, JsonSchema])[]): string {
    const base = wanted.replace(/[^\w.-]+/g, '_').replace(/^_+|_+$/g, '') || 'Schema';
    const text = JSON.stringify([part, JSON.stringify(part).includes('"$ref"') ? siblings : []]);
    for (let count = 1; ; count++) {
      const name = count === 1 ? base : `${base}_${count}`;
      const known = this.#contents.get(name);
      if (known === undefined) this.#contents.set(name, text);
      if (known === undefined || known === text) return name;
    }
  }

  /** The body of the app's own refusals. */
  failure(): JsonSchema {
    return this.take({ ...this.#failure, $id: 'Error' }, 'Error');
  }

  /** Resolves a reference of the document. */
  resolve(schema: JsonSchema): JsonSchema {
    const ref = schema['$ref'] as string | undefined;
    return ref === undefined ? schema : this.resolve(this.schemas[ref.slice('#/components/schemas/'.length)] ?? {});
  }

  /** The properties declared by an object schema and its parts. */
  properties(schema: JsonSchema): Record<string, JsonSchema> {
    const resolved = this.resolve(schema);
    const found: Record<string, JsonSchema> = {};
    for (const part of (resolved['allOf'] ?? []) as JsonSchema[]) Object.assign(found, this.properties(part));
    return Object.assign(found, resolved['properties'] as Record<string, JsonSchema> | undefined);
  }
}

/** Copies a schema without the members that have no meaning in an OpenAPI document, and renames its references. */
function rewrite(value: unknown, rename: (ref: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => rewrite(item, rename));
  if (!isObject(value)) return value;
  const result: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    if (key === '$id' || key === '$anchor' || key.startsWith('~')) continue;
    if (key === '$ref' && typeof inner === 'string') result[key] = rename(inner);
    // The names in `properties` are the author's, and the values of `default` and others only resemble schemas: neither
    // is rewritten.
    else if ((key === 'properties' || key === 'patternProperties') && isObject(inner))
      result[key] = Object.fromEntries(Object.entries(inner).map(([name, part]) => [name, rewrite(part, rename)]));
    else if (['const', 'enum', 'default', 'example', 'examples'].includes(key)) result[key] = inner;
    else if (key === 'items' && Array.isArray(inner)) result['prefixItems'] = rewrite(inner, rename);
    else if (key === 'additionalItems') result['items'] = rewrite(inner, rename);
    else result[key] = rewrite(inner, rename);
  }
  return result;
}
