// Adapts a JSON Schema for Anthropic's structured output: objects are closed, and unsupported constraints are moved
// into the description, for the model to read. Pure.
import { isJson, isList, type Json } from '../contract/chat.ts';

const DEPTH_MAX = 64;
/** Unsupported keywords. */
const UNHELD = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
];
const SCHEMA_MAPS = ['properties', '$defs', 'definitions'];

export function closedSchema(schema: Json, depth = 0): Json {
  if (depth > DEPTH_MAX) return schema;
  const { $schema: dialect, oneOf, ...rest } = schema;
  void dialect;
  const closed: Record<string, unknown> = { ...rest, ...(oneOf === undefined ? {} : { anyOf: oneOf }) };
  const told: string[] = [];
  for (const keyword of UNHELD) {
    if (!(keyword in closed)) continue;
    told.push(`${keyword}: ${JSON.stringify(closed[keyword])}`);
    delete closed[keyword];
  }
  const deeper = (value: unknown): unknown => (isJson(value) ? closedSchema(value, depth + 1) : value);
  for (const keyword of SCHEMA_MAPS) {
    const map = closed[keyword];
    if (!isJson(map)) continue;
    closed[keyword] = Object.fromEntries(Object.entries(map).map(([name, value]) => [name, deeper(value)]));
  }
  if ('items' in closed) closed['items'] = deeper(closed['items']);
  for (const keyword of ['anyOf', 'allOf']) {
    if (isList(closed[keyword])) closed[keyword] = closed[keyword].map(deeper);
  }
  if (closed['type'] === 'object') closed['additionalProperties'] = false;
  if (told.length === 0) return closed;
  const { description } = closed;
  const before = typeof description === 'string' ? `${description}\n\n` : '';
  return { ...closed, description: `${before}{${told.join(', ')}}` };
}
