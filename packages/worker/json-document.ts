// A JSON Schema as a document: its type, and the references within it. Used by all modules that read schemas.

/** A JSON Schema as an object. */
export interface JsonSchema {
  // oxlint-disable-next-line typescript/no-explicit-any -- the draft defines the types of keywords
  readonly [keyword: string]: any;
}

/** Resolves a `$ref` of a document. @throws TypeError if the reference does not exist. */
export function resolveReference(root: JsonSchema, ref: string): JsonSchema {
  if (ref === '#' || ref === root['$id']) return root;
  let target: unknown = root;
  if (ref.startsWith('#/')) {
    for (const part of ref.slice(2).split('/')) {
      const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
      target = isObject(target) && Object.hasOwn(target, key) ? (target as JsonSchema)[key] : undefined;
    }
  } else {
    const name = ref.replace(/^#/, '');
    target = definitions(root).find(
      ([key, schema]) => schema['$id'] === ref || schema['$anchor'] === name || key === ref,
    )?.[1];
  }
  if (!isObject(target) && typeof target !== 'boolean')
    throw new TypeError(`The schema refers to ${ref}, which it does not define`);
  return (typeof target === 'boolean' ? (target ? {} : { not: {} }) : target) as JsonSchema;
}

function definitions(root: JsonSchema): [string, JsonSchema][] {
  return Object.entries<JsonSchema>({ ...(root['definitions'] as object), ...(root['$defs'] as object) }).filter(
    ([, schema]) => isObject(schema),
  );
}

/** Whether a value is an object and not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
