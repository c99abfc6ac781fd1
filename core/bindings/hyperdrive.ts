// The kind `hyperdrive`: pools of connections to a Postgres server. A binding refers to a variable of the project with
// the URL of the server; the worker does not get this variable.
import type { BindingDescriptor } from './descriptor.ts';
import { bindingName, EXPECTS_NAMES } from './schemas.ts';

const variableName = {
  type: 'string',
  pattern: '^[A-Za-z_][A-Za-z0-9_]{0,127}$',
  expects: 'the name of a variable, such as DATABASE_URL, whose value is the URL of a Postgres server',
} as const;

export const hyperdrive = {
  schema: {
    type: 'object',
    description: 'Pools of connections to Postgres servers: the name of a variable with the URL of each.',
    patternProperties: { [bindingName.pattern]: variableName } as {
      readonly [Pattern in typeof bindingName.pattern]: typeof variableName;
    },
    additionalProperties: false,
    expects: 'a map from binding names to variables, such as "PG: DATABASE_URL"',
    expectsNames: EXPECTS_NAMES,
  },
  otherNames: ['pools', 'pool', 'postgres'],
  type: 'Hyperdrive',
  label: 'Pool of connections to the server in the variable',
  module: 'hyperdrive',
  // `connect`: `{binding, stream}` -> as `tcp.connect`.
  calls: ['connect'],
  methods: ['connect'],
  isPlain: false,
  ofPreview: 'resource',
  isMeasured: false,
  reads: [],
  wrangler: null,
  page: { path: 'pools', title: 'Pools', one: 'pool', area: null },
  storage: null,
} as const satisfies BindingDescriptor;

/** Whether a text of a manifest is the name of a variable. */
export function isPoolVariable(text: string): boolean {
  return new RegExp(variableName.pattern).test(text);
}

/** Variables that the worker of a deployment does not get, because only its pools use them. */
export function pooledVariables(bindings: Readonly<Record<string, Readonly<Record<string, string>>>>): Set<string> {
  return new Set(Object.values(bindings['hyperdrive'] ?? {}));
}
