// Closed copies of JSON Schemas, for routes that are `strict`: their objects refuse members that they do not declare.
import { isObject, type JsonSchema } from './json-schema.ts';
import { isStandard } from './schema.ts';
import type { Schema } from './schema-types.ts';

/** Schema of a query without options. */
const NOTHING: JsonSchema = { type: 'object', properties: {} };

/** A copy that refuses undeclared members, at every depth. Parts of `allOf` stay open: they describe one object. */
export function closedSchema(schema: Schema = NOTHING): JsonSchema {
  if (isStandard(schema))
    throw new TypeError('strict needs a JSON Schema or a TypeBox type; with zod, use strictObject instead');
  return closed(schema as JsonSchema);
}

function closed(schema: JsonSchema): JsonSchema {
  if (!isObject(schema)) return schema;
  const made: Record<string, unknown> = { ...schema };
  for (const key of ['anyOf', 'oneOf'])
    if (made[key] !== undefined) made[key] = (made[key] as readonly JsonSchema[]).map(closed);
  if (made['items'] !== undefined) made['items'] = closed(made['items'] as JsonSchema);
  if (made['properties'] === undefined) return made as JsonSchema;
  const members = Object.entries(made['properties'] as Readonly<Record<string, JsonSchema>>);
  made['properties'] = Object.fromEntries(members.map(([name, part]) => [name, closed(part)]));
  if (made['patternProperties'] === undefined) made['additionalProperties'] ??= false;
  return made as JsonSchema;
}
