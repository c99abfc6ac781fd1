// Closed copies of JSON Schemas, for routes that are `strict`: their objects refuse members that they do not declare.
import { isObject, type JsonSchema } from './json-document.ts';
import { isStandard } from './schema.ts';
import type { Schema } from './schema-types.ts';

/** A copy that refuses undeclared members, at every depth. Parts of `allOf` stay open: they describe one object. */
export function closedSchema(schema: Schema = { properties: {} }): JsonSchema {
  if (isStandard(schema)) throw new TypeError('strict needs a JSON Schema; with zod, use strictObject');
  return closed(schema as JsonSchema);
}

function closed<Part>(schema: Part): Part {
  if (!isObject(schema)) return schema;
  const made: Record<string, unknown> = { ...schema };
  const { anyOf, oneOf, items, properties } = made;
  if (anyOf) made['anyOf'] = (anyOf as unknown[]).map(closed);
  if (oneOf) made['oneOf'] = (oneOf as unknown[]).map(closed);
  if (items) made['items'] = closed(items);
  if (properties) {
    made['properties'] = Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, closed(part)]));
    made['additionalProperties'] ??= false;
  }
  return made as Part;
}
