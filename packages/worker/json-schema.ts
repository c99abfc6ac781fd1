// JSON Schema (draft 2020-12, and TypeBox's tuples) compiled into closures, without `eval`. Used by schema.ts for
// schemas without their own validator. An unknown keyword that could reject values is an error when the app is built.
import { anyCheck, checkPart, fits, issuesMax, oneCheck, report, type Check } from './json-check.ts';
import { isObject, resolveReference, type JsonSchema } from './json-document.ts';
import {
  canonical,
  constCheck,
  enumCheck,
  numberChecks,
  ofArray,
  ofObject,
  textChecks,
  typeCheck,
} from './json-keywords.ts';

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
      ([pattern, part]) => [new RegExp(pattern, 'u'), this.compile(part)] as const,
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
