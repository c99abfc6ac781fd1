// Checks of the JSON Schema keywords without schemas inside, for json-schema.ts.
import { report, type Check } from './json-check.ts';
import { isObject, type JsonSchema } from './json-document.ts';
import { formats } from './json-formats.ts';

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number' && Number.isFinite(value),
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: Array.isArray,
  object: isObject,
};

export function typeCheck(type: string | readonly string[]): Check {
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

export function constCheck(expected: unknown): Check {
  const text = canonical(expected);
  return (value, issues) => (canonical(value) === text || report(issues, `is not ${text}`), value);
}

export function enumCheck(values: readonly unknown[]): Check {
  const known = new Set(values.map(canonical));
  const message = `is not one of ${[...known].join(', ')}`;
  return (value, issues) => (known.has(canonical(value)) || report(issues, message), value);
}

/** JSON with sorted keys: equal for equal values. */
export function canonical(value: unknown): string {
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

export function textChecks(schema: JsonSchema): Check[] {
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
    const expression = new RegExp(pattern as string, 'u');
    add((text) => expression.test(text), `does not match ${pattern}`);
  }
  const known = typeof format === 'string' && Object.hasOwn(formats, format) ? formats[format] : undefined;
  if (known !== undefined) add(known, `is not a valid ${format}`);
  return checks;
}

export function numberChecks(schema: JsonSchema): Check[] {
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

export function ofArray(test: (value: unknown[]) => boolean, message: string): Check {
  return (value, issues) => (!Array.isArray(value) || test(value) || report(issues, message), value);
}

export function ofObject(test: (keys: string[]) => boolean, message: string): Check {
  return (value, issues) => (!isObject(value) || test(Object.keys(value)) || report(issues, message), value);
}
