// Generates the platform.yaml reference from its JSON Schema (docs/platform.schema.json).
import { code, madeFrom, table } from './table.ts';

/** The subset of JSON Schema in use. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
}

export function configurationPage(schema: Schema): string {
  const parts = Object.entries(schema.properties ?? {}).map(([name, part]) =>
    [`## ${name}`, part.description ?? '', table(['key', 'type', 'description'], rowsOf(name, part))].join('\n\n'),
  );
  return `# Keys of platform.yaml

Every key and what it takes; [platform.yaml](/platform-yaml) explains them with examples. An unknown key is an error that names its line.

${parts.join('\n\n')}

${madeFrom('docs/platform.schema.json')}
`;
}

/** Rows of a key and its nested keys, with paths. */
function rowsOf(path: string, schema: Schema): string[][] {
  const rows = [[code(path), takes(schema), description(schema)]];
  for (const part of [schema, ...(schema.anyOf ?? [])]) {
    for (const [name, inner] of Object.entries(part.properties ?? {})) rows.push(...rowsOf(`${path}.${name}`, inner));
    for (const inner of Object.values(part.patternProperties ?? {})) rows.push(...rowsOf(`${path}.<NAME>`, inner));
    if (part.items?.properties !== undefined) rows.push(...rowsOf(`${path}[]`, part.items));
  }
  return rows;
}

function description(schema: Schema): string {
  const given = schema.default === undefined ? '' : ` Default: ${code(JSON.stringify(schema.default))}.`;
  return `${schema.description ?? ''}${given}`.trim();
}

/** Type of a key as text. */
function takes(schema: Schema): string {
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum !== undefined) return schema.enum.map((value) => code(String(value))).join(', ');
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(takes))].join(' or ');
  const types = [schema.type ?? []].flat();
  const range =
    schema.minimum !== undefined || schema.maximum !== undefined
      ? ` from ${schema.minimum ?? 'any'} to ${schema.maximum ?? 'any'}`
      : '';
  const words: Readonly<Record<string, string>> = {
    string: schema.pattern === undefined ? 'text' : `text, ${code(schema.pattern)}`,
    integer: `whole number${range}`,
    number: `number${range}`,
    boolean: '`true`, `false`',
    object: 'a map',
    array: `a list of ${schema.items === undefined ? 'anything' : takes(schema.items)}`,
    null: 'nothing',
  };
  return types.map((type) => words[type] ?? type).join(' or ') || 'anything';
}
