// Results of a JSON Schema besides validation: the declared members of a response (others are removed), and
// conversion of query texts. Used by schema.ts after and before validation.
import { fits, type Check } from './json-check.ts';
import { isObject, resolveReference, type JsonSchema } from './json-document.ts';
import { compileJsonSchema } from './json-schema.ts';

/** A function that removes undeclared members from a validated value. */
export function declaredPart(root: JsonSchema): (value: unknown) => unknown {
  const checks = new Map<object, Check>();
  const accepts = (schema: JsonSchema, value: unknown): boolean => {
    let check = checks.get(schema);
    if (check === undefined) {
      check = compileJsonSchema(schema, root);
      checks.set(schema, check);
    }
    return fits(check, value);
  };
  /** All schemas that apply to a value: combinations resolved to their matching branches. */
  const holding = (schema: JsonSchema, value: unknown, into: JsonSchema[]): void => {
    if (!isObject(schema) || into.includes(schema)) return;
    into.push(schema);
    if (schema['$ref'] !== undefined) holding(resolveReference(root, schema['$ref'] as string), value, into);
    for (const part of (schema['allOf'] ?? []) as JsonSchema[]) holding(part, value, into);
    for (const part of [...partsOf(schema, 'anyOf'), ...partsOf(schema, 'oneOf')])
      if (accepts(part, value)) holding(part, value, into);
    if (schema['if'] !== undefined) {
      const holds = accepts(schema['if'] as JsonSchema, value);
      for (const part of [holds ? schema['if'] : undefined, schema[holds ? 'then' : 'else']])
        if (part !== undefined) holding(part as JsonSchema, value, into);
    }
  };
  const strip = (value: unknown, schemas: readonly JsonSchema[]): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (schemas.length === 1) return stripper(schemas[0]!)(value);
    return stripAll(value, schemas);
  };
  const stripAll = (value: object, schemas: readonly JsonSchema[]): unknown => {
    const all: JsonSchema[] = [];
    for (const schema of schemas) holding(schema, value, all);
    if (Array.isArray(value))
      return value.map((item, at) =>
        strip(
          item,
          all.flatMap((schema) => itemSchemas(schema, at)),
        ),
      );
    // If no schema declares members, the value keeps all its members.
    if (!all.some((schema) => declares(schema))) return value;
    const result: Record<string, unknown> = {};
    for (const [key, inner] of Object.entries(value)) {
      const parts = all.flatMap((schema) => memberSchemas(schema, key));
      if (parts.length > 0 && key !== '__proto__') result[key] = strip(inner, parts);
    }
    return result;
  };
  const strippers = new Map<object, Strip>();
  const stripper = (schema: JsonSchema): Strip => {
    let made = strippers.get(schema);
    if (made === undefined)
      strippers.set(schema, (made = plainStrip(schema, stripper) ?? ((value) => stripOne(value, schema))));
    return made;
  };
  const stripOne = (value: unknown, schema: JsonSchema): unknown =>
    typeof value === 'object' && value !== null ? stripAll(value, [schema]) : value;
  return stripper(root);
}

type Strip = (value: unknown) => unknown;

const COMBINING = ['$ref', 'allOf', 'anyOf', 'oneOf', 'if', 'patternProperties', 'prefixItems'];
const SCALARS = new Set(['string', 'number', 'integer', 'boolean', 'null']);

/** A faster function for a schema whose parts do not depend on the value; null for other schemas. */
function plainStrip(schema: JsonSchema, stripper: (schema: JsonSchema) => Strip): Strip | null {
  if (SCALARS.has(schema['type'] as string)) return (value) => value;
  const { properties, additionalProperties, items } = schema;
  if (COMBINING.some((keyword) => schema[keyword] !== undefined) || Array.isArray(items)) return null;
  const isClosed = additionalProperties === undefined || additionalProperties === false;
  if (schema['type'] === 'object' && properties !== undefined && isClosed) {
    const names = Object.keys(properties as object);
    const strips: (Strip | null)[] = names.map(() => null);
    return (value) => {
      if (!isObject(value)) return value;
      const result: Record<string, unknown> = {};
      for (let at = 0; at < names.length; at++) {
        const name = names[at]!;
        const inner = value[name];
        if (inner === undefined || !Object.hasOwn(value, name)) continue;
        // The function is created on first use, because schemas may be recursive.
        result[name] =
          typeof inner === 'object'
            ? (strips[at] ??= stripper((properties as Record<string, JsonSchema>)[name]!))(inner)
            : inner;
      }
      return result;
    };
  }
  if (schema['type'] === 'array' && isObject(items)) {
    if (SCALARS.has(items['type'] as string)) return (value) => value;
    let each: Strip | null = null;
    return (value) =>
      Array.isArray(value) ? value.map((item) => (each ??= stripper(items as JsonSchema))(item)) : value;
  }
  return null;
}

function partsOf(schema: JsonSchema, keyword: string): JsonSchema[] {
  return (schema[keyword] ?? []) as JsonSchema[];
}

function declares(schema: JsonSchema): boolean {
  return (
    schema['properties'] !== undefined ||
    schema['patternProperties'] !== undefined ||
    schema['additionalProperties'] !== undefined
  );
}

function memberSchemas(schema: JsonSchema, key: string): JsonSchema[] {
  const found: JsonSchema[] = [];
  const properties = (schema['properties'] ?? {}) as Record<string, JsonSchema>;
  if (Object.hasOwn(properties, key)) found.push(properties[key]!);
  for (const [pattern, part] of Object.entries<JsonSchema>(
    (schema['patternProperties'] ?? {}) as Record<string, JsonSchema>,
  ))
    if (new RegExp(pattern, 'u').test(key)) found.push(part);
  const others = schema['additionalProperties'] as JsonSchema | boolean | undefined;
  if (found.length === 0 && others !== undefined && others !== false) found.push(others === true ? {} : others);
  return found;
}

function itemSchemas(schema: JsonSchema, at: number): JsonSchema[] {
  const listed = (schema['prefixItems'] ?? (Array.isArray(schema['items']) ? schema['items'] : [])) as JsonSchema[];
  if (at < listed.length) return [listed[at]!];
  const others = Array.isArray(schema['items']) ? schema['additionalItems'] : schema['items'];
  return isObject(others) ? [others as JsonSchema] : [];
}

/** A function that converts the texts of a query, of parameters or headers to the types of the schema's properties. */
export function readTexts(root: JsonSchema): (texts: Readonly<Record<string, unknown>>) => Record<string, unknown> {
  const readers = objectProperties(root, root).map(([name, schema]) => [name, textReader(root, schema)] as const);
  return (texts) => {
    const result: Record<string, unknown> = { ...texts };
    for (const [name, read] of readers) if (Object.hasOwn(result, name)) result[name] = read(result[name]);
    return result;
  };
}

/** Names with an array schema: a single text becomes an array with one item. */
export function arrayNames(root: JsonSchema): string[] {
  return objectProperties(root, root)
    .filter(([, schema]) => typesOf(root, schema).has('array') && !typesOf(root, schema).has('string'))
    .map(([name]) => name);
}

function objectProperties(root: JsonSchema, schema: JsonSchema, depth = 0): [string, JsonSchema][] {
  if (depth > 8) return [];
  const own = Object.entries<JsonSchema>((schema['properties'] ?? {}) as Record<string, JsonSchema>);
  const parts = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => partsOf(schema, keyword));
  if (schema['$ref'] !== undefined) parts.push(resolveReference(root, schema['$ref'] as string));
  return [...own, ...parts.flatMap((part) => objectProperties(root, part, depth + 1))];
}

function typesOf(root: JsonSchema, schema: JsonSchema, depth = 0): Set<string> {
  const found = new Set<string>();
  if (!isObject(schema) || depth > 8) return found;
  const type = schema['type'] as string | string[] | undefined;
  for (const name of typeof type === 'string' ? [type] : (type ?? [])) found.add(name);
  if ('const' in schema) found.add(schema['const'] === null ? 'null' : typeof schema['const']);
  for (const value of (schema['enum'] ?? []) as unknown[]) found.add(value === null ? 'null' : typeof value);
  const parts = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => partsOf(schema, keyword));
  if (schema['$ref'] !== undefined) parts.push(resolveReference(root, schema['$ref'] as string));
  for (const part of parts) for (const name of typesOf(root, part, depth + 1)) found.add(name);
  return found;
}

const number = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Converts texts to the type of a schema; an invalid text stays a text, which validation refuses. */
function textReader(root: JsonSchema, schema: JsonSchema, depth = 0): (text: unknown) => unknown {
  const types = typesOf(root, schema);
  const isNumber = types.has('number') || types.has('integer');
  const one = (text: unknown): unknown => {
    if (typeof text !== 'string') return text;
    if (isNumber && text.length <= 32 && number.test(text)) return Number(text);
    if (types.has('boolean') && (text === 'true' || text === 'false')) return text === 'true';
    return types.has('null') && text === '' && !types.has('string') ? null : text;
  };
  if (!types.has('array')) return one;
  const readItem =
    isObject(schema['items']) && depth < 4
      ? textReader(root, schema['items'] as JsonSchema, depth + 1)
      : (text: unknown) => text;
  return (text) => {
    if (typeof text === 'string' && types.has('string')) return one(text);
    return (Array.isArray(text) ? text : [text]).map(readItem);
  };
}
