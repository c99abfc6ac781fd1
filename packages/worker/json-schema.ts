// JSON Schema (draft 2020-12, and TypeBox's tuples) compiled into closures, without `eval`. Used by schema.ts for
// schemas without their own validator. An unknown keyword that could reject values is an error when the app is built.
import { formats } from './json-formats.ts';

/** A JSON Schema as an object. */
export interface JsonSchema {
  // oxlint-disable-next-line typescript/no-explicit-any -- keywords hold what the draft says
  readonly [keyword: string]: any;
}

/** A validation problem. */
export interface Issue {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Adds problems to `issues`, with paths relative to the value, and returns the value with defaults filled in. */
export type Check = (value: unknown, issues: Issue[]) => unknown;

/** Limit of issues per value, after which validation stops. */
export const issuesMax = 20;

const unsupported = [
  '$dynamicRef',
  '$recursiveRef',
  'unevaluatedProperties',
  'unevaluatedItems',
  'dependencies',
  'nullable',
  'contentSchema',
];

/**
 * Compiles a schema, or a part of the document `root`. @throws TypeError naming the unsupported keyword, or an
 * unresolved reference.
 */
export function compileJsonSchema(schema: JsonSchema, root: JsonSchema = schema): Check {
  return new Compiler(root).compile(schema);
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

class Compiler {
  readonly #root: JsonSchema;
  // References may be cyclic: an unfinished check is called through its cell.
  readonly #cells = new Map<object, { check: Check | null }>();

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  compile(schema: JsonSchema | boolean): Check {
    if (schema === true) return (value) => value;
    if (schema === false) return (value, issues) => (report(issues, 'is not allowed'), value);
    if (!isObject(schema)) throw new TypeError(`${JSON.stringify(schema)} is not a JSON Schema`);
    const known = this.#cells.get(schema);
    if (known !== undefined) return known.check ?? ((value, issues) => known.check!(value, issues));
    const cell: { check: Check | null } = { check: null };
    this.#cells.set(schema, cell);
    return (cell.check = this.#sequence(schema));
  }

  #sequence(schema: JsonSchema): Check {
    for (const keyword of unsupported)
      if (keyword in schema) throw new TypeError(`The JSON Schema keyword ${keyword} is not supported`);
    const checks: Check[] = [];
    if (schema['type'] !== undefined) checks.push(typeCheck(schema['type'] as string | string[]));
    if ('const' in schema) checks.push(constCheck(schema['const']));
    if (schema['enum'] !== undefined) checks.push(enumCheck(schema['enum'] as unknown[]));
    checks.push(
      ...textChecks(schema),
      ...numberChecks(schema),
      ...this.#arrayChecks(schema),
      ...this.#objectChecks(schema),
    );
    if (schema['$ref'] !== undefined) checks.push(this.compile(resolveReference(this.#root, schema['$ref'] as string)));
    checks.push(...this.#combinations(schema));
    if (checks.length === 1) return checks[0]!;
    const stops = schema['type'] !== undefined;
    return (value, issues) => {
      let result = value;
      const before = issues.length;
      for (let at = 0; at < checks.length; at++) {
        result = checks[at]!(result, issues);
        // A value of the wrong type is reported only once.
        if ((at === 0 && stops && issues.length > before) || issues.length >= issuesMax) return result;
      }
      return result;
    };
  }

  #combinations(schema: JsonSchema): Check[] {
    const checks: Check[] = [];
    for (const part of (schema['allOf'] ?? []) as JsonSchema[]) checks.push(this.compile(part));
    if (schema['anyOf'] !== undefined)
      checks.push(anyCheck((schema['anyOf'] as JsonSchema[]).map((part) => this.compile(part))));
    if (schema['oneOf'] !== undefined)
      checks.push(oneCheck((schema['oneOf'] as JsonSchema[]).map((part) => this.compile(part))));
    if (schema['not'] !== undefined) {
      const not = this.compile(schema['not'] as JsonSchema);
      checks.push((value, issues) => (fits(not, value) && report(issues, 'has a form that is not allowed'), value));
    }
    if (schema['if'] !== undefined) {
      const [condition, then, otherwise] = ['if', 'then', 'else'].map((key) =>
        this.compile((schema[key] ?? true) as JsonSchema),
      );
      checks.push((value, issues) => (fits(condition!, value) ? then! : otherwise!)(value, issues));
    }
    return checks;
  }

  #arrayChecks(schema: JsonSchema): Check[] {
    const { minItems, maxItems, uniqueItems, contains, minContains = 1, maxContains = Infinity } = schema;
    const checks: Check[] = [];
    const each = this.#items(schema);
    if (each !== null) checks.push(each);
    if (minItems !== undefined)
      checks.push(ofArray((value) => value.length >= minItems, `has fewer than ${minItems} items`));
    if (maxItems !== undefined)
      checks.push(ofArray((value) => value.length <= maxItems, `has more than ${maxItems} items`));
    if (uniqueItems === true)
      checks.push(ofArray((value) => new Set(value.map(canonical)).size === value.length, 'has an item twice'));
    if (contains !== undefined) {
      const inner = this.compile(contains as JsonSchema);
      const counts = (value: unknown[]): boolean => {
        const found = value.filter((item) => fits(inner, item)).length;
        return found >= minContains && found <= maxContains;
      };
      checks.push(ofArray(counts, 'does not contain what it has to'));
    }
    return checks;
  }

  #items(schema: JsonSchema): Check | null {
    const listed = schema['prefixItems'] ?? (Array.isArray(schema['items']) ? schema['items'] : []);
    const others = Array.isArray(schema['items']) ? schema['additionalItems'] : schema['items'];
    if (listed.length === 0 && others === undefined) return null;
    const first = (listed as JsonSchema[]).map((part) => this.compile(part));
    const rest = this.compile((others ?? true) as JsonSchema);
    return (value, issues) => {
      if (!Array.isArray(value)) return value;
      let result: unknown[] = value;
      for (let at = 0; at < value.length && issues.length < issuesMax; at++) {
        const made = checkPart(first[at] ?? rest, value[at], at, issues);
        if (made === value[at]) continue;
        if (result === value) result = value.slice();
        result[at] = made;
      }
      return result;
    };
  }

  #objectChecks(schema: JsonSchema): Check[] {
    const { minProperties, maxProperties, propertyNames } = schema;
    const checks: Check[] = [];
    const members = this.#members(schema);
    if (members !== null) checks.push(members);
    if (minProperties !== undefined)
      checks.push(ofObject((keys) => keys.length >= minProperties, `has fewer than ${minProperties} properties`));
    if (maxProperties !== undefined)
      checks.push(ofObject((keys) => keys.length <= maxProperties, `has more than ${maxProperties} properties`));
    if (propertyNames !== undefined) {
      const name = this.compile(propertyNames as JsonSchema);
      checks.push(ofObject((keys) => keys.every((key) => fits(name, key)), 'has a property whose name is not allowed'));
    }
    for (const [key, needed] of Object.entries<string[]>(
      (schema['dependentRequired'] ?? {}) as Record<string, string[]>,
    )) {
      checks.push(
        ofObject(
          (keys) => !keys.includes(key) || needed.every((other) => keys.includes(other)),
          `needs ${needed.join(', ')} beside ${key}`,
        ),
      );
    }
    for (const [key, part] of Object.entries<JsonSchema>(
      (schema['dependentSchemas'] ?? {}) as Record<string, JsonSchema>,
    )) {
      const check = this.compile(part);
      checks.push((value, issues) => (isObject(value) && Object.hasOwn(value, key) ? check(value, issues) : value));
    }
    return checks;
  }

  #members(schema: JsonSchema): Check | null {
    if (
      ['properties', 'required', 'patternProperties', 'additionalProperties'].every((key) => schema[key] === undefined)
    )
      return null;
    const properties = Object.entries<JsonSchema>((schema['properties'] ?? {}) as Record<string, JsonSchema>);
    const names = properties.map(([name]) => name);
    const checks = properties.map(([, part]) => this.compile(part));
    const defaults = properties.map(([, part]) =>
      isObject(part) && 'default' in part ? JSON.stringify(part['default']) : null,
    );
    const required = (schema['required'] ?? []) as string[];
    const patterns = Object.entries<JsonSchema>((schema['patternProperties'] ?? {}) as Record<string, JsonSchema>).map(
      ([pattern, part]) => [expressionOf(pattern), this.compile(part)] as const,
    );
    const others =
      schema['additionalProperties'] === undefined ? null : this.compile(schema['additionalProperties'] as JsonSchema);
    const declared = new Set(names);
    return (value, issues) => {
      if (!isObject(value)) return value;
      for (const name of required)
        if (!Object.hasOwn(value, name) && !hasDefault(names, defaults, name)) report(issues, 'is missing', [name]);
      let result = value;
      const keep = (name: string, made: unknown): void => {
        if (result === value) result = { ...value };
        result[name] = made;
      };
      for (let at = 0; at < names.length && issues.length < issuesMax; at++) {
        const name = names[at]!;
        if (Object.hasOwn(value, name)) {
          const made = checkPart(checks[at]!, value[name], name, issues);
          if (made !== value[name]) keep(name, made);
        } else if (defaults[at] !== null) keep(name, JSON.parse(defaults[at]!));
      }
      if (patterns.length === 0 && others === null) return result;
      for (const name of Object.keys(value)) {
        let matched = declared.has(name);
        for (const [pattern, check] of patterns) {
          if (!pattern.test(name)) continue;
          matched = true;
          const made = checkPart(check, result[name], name, issues);
          if (made !== result[name]) keep(name, made);
        }
        if (matched || others === null || issues.length >= issuesMax) continue;
        const made = checkPart(others, value[name], name, issues);
        if (made !== value[name]) keep(name, made);
      }
      return result;
    };
  }
}

function hasDefault(names: readonly string[], defaults: readonly (string | null)[], name: string): boolean {
  const at = names.indexOf(name);
  return at >= 0 && defaults[at] !== null;
}

/** Whether a value is valid, without collecting the reasons. */
export function fits(check: Check, value: unknown): boolean {
  const issues: Issue[] = [];
  check(value, issues);
  return issues.length === 0;
}

const here: readonly never[] = [];

function report(issues: Issue[], message: string, path: readonly (string | number)[] = here): void {
  if (issues.length < issuesMax) issues.push({ path, message });
}

/** Validates a part of a value. The path is built only for a problem, which is rare. */
function checkPart(check: Check, value: unknown, key: string | number, issues: Issue[]): unknown {
  const before = issues.length;
  const made = check(value, issues);
  for (let at = before; at < issues.length; at++) {
    const { path, message } = issues[at]!;
    issues[at] = { path: [key, ...path], message };
  }
  return made;
}

function expressionOf(source: string): RegExp {
  return new RegExp(source, 'u');
}

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number' && Number.isFinite(value),
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: Array.isArray,
  object: isObject,
};

function typeCheck(type: string | readonly string[]): Check {
  const names = typeof type === 'string' ? [type] : type;
  const tests = names.map((name) => {
    const found = Object.hasOwn(types, name) ? types[name] : undefined;
    if (found === undefined) throw new TypeError(`The JSON Schema type ${name} is not supported`);
    return found;
  });
  const message = `is not ${names.map((name) => (/^[aeiou]/.test(name) ? `an ${name}` : name === 'null' ? name : `a ${name}`)).join(' or ')}`;
  if (tests.length === 1) {
    const only = tests[0]!;
    return (value, issues) => {
      if (!only(value)) report(issues, message);
      return value;
    };
  }
  return (value, issues) => (tests.some((accepts) => accepts(value)) || report(issues, message), value);
}

function constCheck(expected: unknown): Check {
  const text = canonical(expected);
  return (value, issues) => (canonical(value) === text || report(issues, `is not ${text}`), value);
}

function enumCheck(values: readonly unknown[]): Check {
  const known = new Set(values.map(canonical));
  const message = `is not one of ${[...known].join(', ')}`;
  return (value, issues) => (known.has(canonical(value)) || report(issues, message), value);
}

/** JSON with sorted keys: equal for equal values. */
function canonical(value: unknown): string {
  if (!isObject(value) && !Array.isArray(value)) return JSON.stringify(value) ?? 'undefined';
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = Object.keys(value).sort();
  return `{${members.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`;
}

/** Number of characters, as in JSON Schema. */
function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function textChecks(schema: JsonSchema): Check[] {
  const { minLength, maxLength, pattern, format } = schema;
  const checks: Check[] = [];
  const add = (test: (text: string) => boolean, message: string): void => {
    checks.push((value, issues) => (typeof value !== 'string' || test(value) || report(issues, message), value));
  };
  if (minLength !== undefined)
    add(
      (text) => text.length >= minLength && (text.length >= 2 * minLength || characters(text) >= minLength),
      `has fewer than ${minLength} characters`,
    );
  if (maxLength !== undefined)
    add(
      (text) => text.length <= maxLength || (text.length <= 2 * maxLength && characters(text) <= maxLength),
      `has more than ${maxLength} characters`,
    );
  if (pattern !== undefined) {
    const expression = expressionOf(pattern as string);
    add((text) => expression.test(text), `does not match ${pattern}`);
  }
  const known = typeof format === 'string' && Object.hasOwn(formats, format) ? formats[format] : undefined;
  if (known !== undefined) add(known, `is not a valid ${format}`);
  return checks;
}

function numberChecks(schema: JsonSchema): Check[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const checks: Check[] = [];
  const add = (test: (value: number) => boolean, message: string): void => {
    checks.push((value, issues) => (typeof value !== 'number' || test(value) || report(issues, message), value));
  };
  if (minimum !== undefined) add((value) => value >= minimum, `is less than ${minimum}`);
  if (maximum !== undefined) add((value) => value <= maximum, `is more than ${maximum}`);
  if (exclusiveMinimum !== undefined) add((value) => value > exclusiveMinimum, `is not more than ${exclusiveMinimum}`);
  if (exclusiveMaximum !== undefined) add((value) => value < exclusiveMaximum, `is not less than ${exclusiveMaximum}`);
  if (multipleOf !== undefined) {
    const whole = (value: number): boolean => {
      const times = value / multipleOf;
      return Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times));
    };
    add(whole, `is not a multiple of ${multipleOf}`);
  }
  return checks;
}

function ofArray(test: (value: unknown[]) => boolean, message: string): Check {
  return (value, issues) => (!Array.isArray(value) || test(value) || report(issues, message), value);
}

function ofObject(test: (keys: string[]) => boolean, message: string): Check {
  return (value, issues) => (!isObject(value) || test(Object.keys(value)) || report(issues, message), value);
}

/** The first matching branch; if none matches, the problems of the closest branch. */
function anyCheck(checks: readonly Check[]): Check {
  return (value, issues) => {
    let closest: Issue[] | null = null;
    const reasons = new Set<string>();
    for (const check of checks) {
      const found: Issue[] = [];
      const made = check(value, found);
      if (found.length === 0) return made;
      reasons.add(found[0]!.message);
      if (closest === null || depth(found) > depth(closest)) closest = found;
    }
    if (closest !== null && depth(closest) > 0)
      for (const { path: at, message } of closest) report(issues, message, at);
    else report(issues, [...reasons].join(', and '));
    return value;
  };
}

function depth(issues: readonly Issue[]): number {
  return Math.max(...issues.map(({ path }) => path.length));
}

function oneCheck(checks: readonly Check[]): Check {
  const any = anyCheck(checks);
  return (value, issues) => {
    const fitting = checks.filter((check) => fits(check, value));
    if (fitting.length === 1) return fitting[0]!(value, issues);
    if (fitting.length === 0) return any(value, issues);
    report(issues, 'matches more than one of the allowed schemas');
    return value;
  };
}
