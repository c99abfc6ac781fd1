// What a JSON Schema says besides yes and no: which members of an answer it declares (the others are taken out), and what the
// texts of a query stand for. Used by schema.ts after and before the check.
import { compileJsonSchema, fits, isObject, resolveReference, type Check, type JsonSchema } from './json-schema.ts';

/** A function that takes out of a value what the schema does not declare. The value has been checked. */
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
  /** All schemas that hold for a value: combinations resolved to the branches that fit. */
  const holding = (schema: JsonSchema, value: unknown, into: JsonSchema[]): void => {
    if (!isObject(schema) || into.includes(schema)) return;
    into.push(schema);
    if (schema['$ref'] !== undefined) holding(resolveReference(root, schema['$ref'] as string), value, into);
    for (const part of (schema['allOf'] ?? []) as JsonSchema[]) holding(part, value, into);
    for (const part of [...partsOf(schema, 'anyOf'), ...partsOf(schema, 'oneOf')]) if (accepts(part, value)) holding(part, value, into);
    if (schema['if'] !== undefined) {
      const holds = accepts(schema['if'] as JsonSchema, value);
      for (const part of [holds ? schema['if'] : undefined, schema[holds ? 'then' : 'else']])
        if (part !== undefined) holding(part as JsonSchema, value, into);
    }
  };
  const strip = (value: unknown, schemas: readonly JsonSchema[]): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    const all: JsonSchema[] = [];
    for (const schema of schemas) holding(schema, value, all);
    return Array.isArray(value)
      ? value.map((item, at) =>
          strip(
            item,
            all.flatMap((schema) => itemSchemas(schema, at)),
          ),
        )
      : members(value as Record<string, unknown>, all);
  };
  const members = (value: Record<string, unknown>, all: readonly JsonSchema[]): unknown => {
    // A schema that says nothing about members leaves them alone.
    if (!all.some((schema) => declares(schema))) return value;
    const result: Record<string, unknown> = {};
    for (const key of Object.keys(value)) {
      const schemas = all.flatMap((schema) => memberSchemas(schema, key));
      if (schemas.length > 0 && key !== '__proto__') result[key] = strip(value[key], schemas);
    }
    return result;
  };
  return (value) => strip(value, [root]);
}

function partsOf(schema: JsonSchema, keyword: string): JsonSchema[] {
  return (schema[keyword] ?? []) as JsonSchema[];
}

function declares(schema: JsonSchema): boolean {
  return schema['properties'] !== undefined || schema['patternProperties'] !== undefined || schema['additionalProperties'] !== undefined;
}

function memberSchemas(schema: JsonSchema, key: string): JsonSchema[] {
  const found: JsonSchema[] = [];
  const properties = (schema['properties'] ?? {}) as Record<string, JsonSchema>;
  if (Object.hasOwn(properties, key)) found.push(properties[key]!);
  for (const [pattern, part] of Object.entries<JsonSchema>((schema['patternProperties'] ?? {}) as Record<string, JsonSchema>))
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

/** A function that turns the texts of a query, of parameters or headers into what the schema's properties ask for. */
export function readTexts(root: JsonSchema): (texts: Readonly<Record<string, unknown>>) => Record<string, unknown> {
  const properties = objectProperties(root, root);
  return (texts) => {
    const result: Record<string, unknown> = { ...texts };
    for (const [name, schema] of properties) if (Object.hasOwn(result, name)) result[name] = readText(root, schema, result[name]);
    return result;
  };
}

/** The names whose schema asks for an array: there a single text is an array of one. */
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

function readText(root: JsonSchema, schema: JsonSchema, text: unknown): unknown {
  const types = typesOf(root, schema);
  if (types.has('array') && !(typeof text === 'string' && types.has('string'))) {
    const items = isObject(schema['items']) ? (schema['items'] as JsonSchema) : {};
    return (Array.isArray(text) ? text : [text]).map((item) => readText(root, items, item));
  }
  if (typeof text !== 'string') return text;
  if ((types.has('number') || types.has('integer')) && number.test(text) && text.length <= 32) return Number(text);
  if (types.has('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  if (types.has('null') && text === '' && !types.has('string')) return null;
  return text;
}
