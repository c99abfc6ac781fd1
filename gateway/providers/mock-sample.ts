// Generates the simplest value that matches a JSON Schema, for the mock provider. Supports the keywords used in tool
// schemas. Pure.
import { isJson, isList } from '../contract/chat.ts';

const DEPTH_MAX = 16;

export function sampleOf(schema: unknown, depth = 0): unknown {
  if (!isJson(schema) || depth > DEPTH_MAX) return null;
  if ('const' in schema) return schema['const'];
  if ('default' in schema) return schema['default'];
  for (const list of ['enum', 'examples']) {
    const values = schema[list];
    if (isList(values) && values.length > 0) return values[0];
  }
  for (const choice of ['anyOf', 'oneOf', 'allOf']) {
    const schemas = schema[choice];
    if (isList(schemas) && schemas.length > 0) return sampleOf(schemas[0], depth + 1);
  }
  const { type } = schema;
  const kind: unknown = isList(type) ? type[0] : type;
  if (kind === 'string') return 'x'.repeat(Math.min(numberOf(schema['minLength'], 1), 1000));
  if (kind === 'number' || kind === 'integer') return numberOf(schema['minimum'], 1);
  if (kind === 'boolean') return true;
  if (kind === 'array') {
    const length = Math.min(numberOf(schema['minItems'], 0), 100);
    return Array.from({ length }, () => sampleOf(schema['items'], depth + 1));
  }
  if (kind !== 'object' && !isJson(schema['properties'])) return null;
  const properties = isJson(schema['properties']) ? schema['properties'] : {};
  const required = isList(schema['required']) ? schema['required'].map(String) : [];
  return Object.fromEntries(required.map((name) => [name, sampleOf(properties[name], depth + 1)]));
}

const numberOf = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise);
