// Schemas of names in platform.yaml, for the descriptors and config/project-config-schema.ts.

// `env.vars` has the variables. The other names are members of every object, so they would be found in any table by
// binding names.
export const bindingName = {
  type: 'string',
  pattern:
    '^(?!(?:vars|constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|toLocaleString|toString|valueOf)$)[A-Za-z][A-Za-z0-9_]{0,63}$',
} as const;

export const resourceName = {
  type: 'string',
  pattern: '^[a-z][a-z0-9_]{0,63}$',
  expects: 'a resource name (lower-case letters, digits and underscores, starting with a letter, at most 64)',
} as const;

/** The message about an invalid binding name. */
export const EXPECTS_NAMES =
  'a binding name (letters, digits and underscores, starting with a letter, at most 64; not a reserved name such as vars)';

/** `<BINDING_NAME>: <resource_name>`, the shape of most kinds. */
export function bindingMap<const Description extends string>(description: Description) {
  return {
    type: 'object',
    description,
    patternProperties: { [bindingName.pattern]: resourceName } as {
      readonly [Pattern in typeof bindingName.pattern]: typeof resourceName;
    },
    additionalProperties: false,
    expects: 'a map from binding names to resource names, such as "DB: users"',
    expectsNames: EXPECTS_NAMES,
  } as const;
}
