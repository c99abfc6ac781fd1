// Any schema as the three functions the app needs: validate input, validate and trim output, describe itself as JSON
// Schema. Standard Schemas validate themselves; JSON Schemas are compiled by json-schema.ts when the app is built.
import { arrayNames, declaredPart, readTexts } from './json-shape.ts';
import { issuesMax, type Issue } from './json-check.ts';
import { isObject, type JsonSchema } from './json-document.ts';
import { compileJsonSchema } from './json-schema.ts';
import type { Schema, StandardResult, StandardSchema } from './schema-types.ts';

/** Result of validation. */
export type Checked = { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

/** A prepared schema. */
export interface Checker {
  /** Validates a value; asynchronous if the schema is. */
  check(value: unknown): Checked | Promise<Checked>;
  /** Validates the texts of a query, of parameters or headers. */
  checkTexts(texts: Readonly<Record<string, unknown>>): Checked | Promise<Checked>;
  /** Validates a response, and removes undeclared members. */
  checkAnswer(value: unknown): Checked | Promise<Checked>;
  /** The schema as JSON Schema; null if it is unknown. */
  describe(io: 'input' | 'output', toJsonSchema?: ToJsonSchema): JsonSchema | null;
}

/** Describes a schema that cannot describe itself. */
export type ToJsonSchema = (schema: never, io: 'input' | 'output') => object;

/** Prepares a schema. @throws TypeError if the schema is invalid. */
export function prepareSchema(schema: Schema): Checker {
  if (isStandard(schema)) return standardChecker(schema);
  if (isObject(schema)) return jsonChecker(schema as JsonSchema);
  throw new TypeError('A schema is a Standard Schema (zod, valibot, arktype), a TypeBox type or a JSON Schema');
}

/** Whether a schema validates itself. */
export function isStandard(schema: object): schema is StandardSchema {
  return (
    '~standard' in schema && typeof (schema['~standard'] as { validate?: unknown } | null)?.validate === 'function'
  );
}

/** Whether a value has to be awaited. */
export function isThenable(value: unknown): value is Promise<never> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

function jsonChecker(schema: JsonSchema): Checker {
  const compiled = compileJsonSchema(schema);
  const check = (value: unknown): Checked => {
    const issues: Issue[] = [];
    const made = compiled(value, issues);
    return issues.length === 0 ? { value: made } : { issues };
  };
  let texts: ReturnType<typeof readTexts> | null = null;
  let trim: ReturnType<typeof declaredPart> | null = null;
  return {
    check,
    checkTexts: (given) => check((texts ??= readTexts(schema))(given)),
    checkAnswer(value) {
      const checked = check(value);
      return checked.issues === undefined ? { value: (trim ??= declaredPart(schema))(checked.value) } : checked;
    },
    // TypeBox has internal members that JSON omits.
    describe: () => JSON.parse(JSON.stringify(schema)) as JsonSchema,
  };
}

/** The part of Standard JSON Schema supported by zod 4.2 and arktype 2.1.28. */
interface Describing {
  readonly jsonSchema?: Readonly<Record<'input' | 'output', (options: object) => JsonSchema>>;
}

/** By default, arktype keeps undeclared members. */
interface Trimming {
  onDeepUndeclaredKey?(behaviour: 'delete'): StandardSchema;
}

function standardChecker(schema: StandardSchema): Checker {
  const { vendor } = schema['~standard'];
  const validate = validator(schema);
  const trimming = schema as unknown as Trimming;
  const trimmed =
    vendor === 'arktype' && typeof trimming.onDeepUndeclaredKey === 'function'
      ? validator(trimming.onDeepUndeclaredKey('delete'))
      : validate;
  const describe: Checker['describe'] = (io, toJsonSchema) => describeStandard(schema, io, toJsonSchema);
  let arrays: readonly string[] | null = null;
  return {
    check: validate,
    checkTexts(texts) {
      arrays ??= vendor === 'valibot' ? valibotArrays(schema) : arrayNames(describe('input') ?? {});
      let given = texts;
      for (const name of arrays) if (typeof given[name] === 'string') given = { ...given, [name]: [given[name]] };
      return validate(given);
    },
    checkAnswer: trimmed,
    describe,
  };
}

/** valibot cannot create a JSON Schema, but its object schemas list their entries. */
function valibotArrays(schema: object): string[] {
  const { entries = {} } = schema as {
    entries?: Readonly<Record<string, { type?: string; wrapped?: { type?: string } }>>;
  };
  return Object.entries(entries).flatMap(([name, { type, wrapped }]) =>
    type === 'array' || wrapped?.type === 'array' ? [name] : [],
  );
}

function validator(schema: StandardSchema): Checker['check'] {
  const { validate, vendor } = schema['~standard'];
  const tail = valueTails[vendor];
  const toChecked = (result: StandardResult<unknown>): Checked => checkedOf(result, tail);
  return (value) => {
    const result = validate(value);
    return isThenable(result)
      ? (result as Promise<StandardResult<unknown>>).then(toChecked)
      : toChecked(result as StandardResult<unknown>);
  };
}

/** Part of a library's message that repeats the value, removed from responses and logs. */
const valueTails: Readonly<Record<string, RegExp>> = { arktype: / \(was [^]*\)$/, valibot: / but received [^]*$/ };

function checkedOf(result: StandardResult<unknown>, tail: RegExp | undefined): Checked {
  if (result.issues === undefined) return result;
  return {
    issues: result.issues.slice(0, issuesMax).map(({ message, path = [] }) => ({
      message: tail === undefined ? message : message.replace(tail, ''),
      path: path.map((part) => {
        const key = typeof part === 'object' ? part.key : part;
        return typeof key === 'number' ? key : String(key);
      }),
    })),
  };
}

function describeStandard(
  schema: StandardSchema,
  io: 'input' | 'output',
  toJsonSchema: ToJsonSchema | undefined,
): JsonSchema | null {
  const { jsonSchema } = schema['~standard'] as Describing;
  const ways = [
    () => jsonSchema?.[io]({ target: 'draft-2020-12' }),
    // zod refuses dates and transforms, unless this option lets it describe them as any value.
    () => jsonSchema?.[io]({ target: 'draft-2020-12', libraryOptions: { unrepresentable: 'any', io } }),
    () => toJsonSchema?.(schema as never, io) as JsonSchema | undefined,
  ];
  for (const way of ways) {
    try {
      const made = way();
      if (made !== undefined) return made;
    } catch {
      // The schema does not support this way of describing it. Try the next one.
    }
  }
  return null;
}
