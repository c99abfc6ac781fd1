// Arguments that a tool of a stateless server also requires as headers (`x-mcp-header` in its schema), so that
// proxies can route by them. Called by client.ts.

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;
const PLAIN = /^(?! )[\t\x20-\x7e]*(?<! )$/;
const VALUE_CHARS_MAX = 1000;
const DEPTH_MAX = 8;

/** The headers, by lower-case name; none if the schema requires none. */
export function paramHeaders(schema: unknown, args: unknown, depth = 0): Record<string, string> {
  const headers: Record<string, string> = {};
  const { properties } = (schema ?? {}) as { properties?: unknown };
  if (depth > DEPTH_MAX || typeof properties !== 'object' || properties === null) return headers;
  if (typeof args !== 'object' || args === null) return headers;
  for (const [key, property] of Object.entries(properties)) {
    const value: unknown = Object.hasOwn(args, key) ? (args as Record<string, unknown>)[key] : undefined;
    const name = (property as { 'x-mcp-header'?: unknown } | null)?.['x-mcp-header'];
    if (typeof name !== 'string') Object.assign(headers, paramHeaders(property, value, depth + 1));
    else if (HEADER_NAME.test(name) && ['string', 'number', 'boolean'].includes(typeof value))
      headers[`mcp-param-${name.toLowerCase()}`] = encode(String(value));
  }
  return headers;
}

function encode(value: string): string {
  const text = value.slice(0, VALUE_CHARS_MAX);
  if (PLAIN.test(text)) return text;
  return `=?base64?${btoa(String.fromCodePoint(...new TextEncoder().encode(text)))}?=`;
}
