// Validates a YAML document against a schema literal and builds the plain value; reports mismatches with the position
// of each node. Supports only the keywords that our schemas use. Called by the parsers of our YAML files; no I/O.
import { isMap, isScalar, isSeq, type Node, type YAMLMap } from 'yaml';
import { quoted } from '../problem.ts';
import { nearestWord } from '../spelling.ts';
import type { YamlSource } from './yaml-source.ts';

/** The part of JSON Schema that our definitions use, and two custom keywords for messages. */
interface SchemaNode {
  readonly type?: 'object' | 'array' | 'string' | 'boolean' | 'integer';
  readonly enum?: readonly string[];
  /** At most one branch matches the type of a value. */
  readonly anyOf?: readonly SchemaNode[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: false;
  readonly required?: readonly string[];
  readonly items?: SchemaNode;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  /** Phrase after "must be" in a message. */
  readonly expects?: string;
  /** Phrase after "must be" in a message about a name in `patternProperties`. */
  readonly expectsNames?: string;
}

/** The nodes of a key and of its value, for the positions of problems that are found later. */
interface Entry {
  readonly key: Node;
  readonly value: Node;
}

/** A checked document. `value` has the valid parts of the document; if the source has no problems, it is complete. */
export interface Checked {
  readonly value: Readonly<Record<string, unknown>>;
  /** The entries by path, such as `assets.binding`. */
  readonly entries: ReadonlyMap<string, Entry>;
}

/** Handles an unknown key: returns a custom message, or undefined for the default message. */
type UnknownKey = (path: string) => { message?: string; hint?: string } | undefined;

/** Checks the root of a source, which must be a map or empty. */
export function checkSource(source: YamlSource, schema: SchemaNode, unknownKey: UnknownKey = () => undefined): Checked {
  const entries = new Map<string, Entry>();
  const { root } = source;
  const target = root === null ? undefined : source.follow(root, '');
  if (target === undefined || (isScalar(target) && target.value === null)) return { value: {}, entries };
  if (!isMap(target)) {
    source.report(`The file must be a map of keys, not ${described(target)}`, root, '');
    return { value: {}, entries };
  }
  return { value: checkMap(target, schema, ''), entries };

  function checkNode(node: Node, schema: SchemaNode, path: string): unknown {
    const target = source.follow(node, path);
    if (target === undefined) return undefined;
    if (isScalar(target) && target.value === null) {
      source.report(`${path} has no value`, node, path, { hint: `Give it ${expected(schema)}, or delete the line.` });
      return undefined;
    }
    const fitting = (schema.anyOf ?? [schema]).find((branch) => hasType(target, branch));
    if (fitting === undefined) return mismatch(node, target, schema, path);
    if (isMap(target)) return checkMap(target, fitting, path);
    if (isSeq(target)) return checkList(node, target.items as Node[], fitting, path);
    const value = isScalar(target) ? target.value : undefined;
    if (!scalarFits(value, fitting)) return mismatch(node, target, fitting, path);
    return value;
  }

  function checkMap(map: YAMLMap, schema: SchemaNode, path: string): Record<string, unknown> {
    const value: Record<string, unknown> = {};
    const seen = new Map<string, Node>();
    for (const pair of map.items) {
      const keyNode = (pair.key ?? map) as Node;
      const key = keyText(keyNode, path, schema);
      if (key === undefined) continue;
      const inner = path === '' ? key : `${path}.${key}`;
      if (seen.has(key)) {
        source.report(`${shownPath(path, key)} is there twice`, keyNode, inner);
        continue;
      }
      seen.set(key, keyNode);
      const definition = definitionOf(key, keyNode, schema, path);
      if (definition === undefined) continue;
      const valueNode = (pair.value ?? keyNode) as Node;
      entries.set(inner, { key: keyNode, value: valueNode });
      if (pair.value === null)
        source.report(`${inner} has no value`, keyNode, inner, {
          hint: `Give it ${expected(definition)}, or delete the line.`,
        });
      const checked = pair.value === null ? undefined : checkNode(valueNode, definition, inner);
      if (checked !== undefined) value[key] = checked;
    }
    for (const key of schema.required ?? []) {
      if (!seen.has(key)) source.report(`${path} needs the key "${key}"`, map, path);
    }
    return value;
  }

  function keyText(node: Node, path: string, schema: SchemaNode): string | undefined {
    const target = source.follow(node, path);
    if (target === undefined) return undefined;
    if (isScalar(target) && typeof target.value === 'string') return target.value;
    // Keys such as 404 are written without quotes.
    const hasNumbers = Object.keys(schema.properties ?? {}).some((name) => /^\d+$/.test(name));
    if (hasNumbers && isScalar(target) && Number.isInteger(target.value)) return String(target.value);
    source.report(`A key must be text, not ${described(target)}`, node, path, {
      hint: 'Put it in quotes if it is meant as text.',
    });
    return undefined;
  }

  function definitionOf(key: string, keyNode: Node, schema: SchemaNode, path: string): SchemaNode | undefined {
    if (schema.properties && Object.hasOwn(schema.properties, key)) return schema.properties[key];
    for (const [pattern, definition] of Object.entries(schema.patternProperties ?? {})) {
      if (new RegExp(pattern).test(key)) return definition;
    }
    const inner = shownPath(path, key);
    if (schema.patternProperties) {
      source.report(`${quoted(key)} in ${path} must be ${schema.expectsNames ?? 'another name'}`, keyNode, inner);
      return undefined;
    }
    const known = Object.keys(schema.properties ?? {});
    const answer = unknownKey(inner);
    const near = nearestWord(key, known);
    const hint = answer?.hint ?? (near === undefined ? `Known keys: ${known.join(', ')}.` : `Did you mean "${near}"?`);
    source.report(answer?.message ?? `Unknown key ${quoted(key)}${path === '' ? '' : ` in ${path}`}`, keyNode, inner, {
      hint,
    });
    return undefined;
  }

  function checkList(node: Node, items: readonly Node[], schema: SchemaNode, path: string): unknown[] | undefined {
    if (schema.maxItems !== undefined && items.length > schema.maxItems) {
      source.report(`${path} has ${items.length} items; at most ${schema.maxItems} are allowed`, node, path);
      return undefined;
    }
    return items.map((item, index) => {
      const inner = `${path}[${index}]`;
      entries.set(inner, { key: item, value: item });
      return checkNode(item, schema.items ?? {}, inner);
    });
  }

  function mismatch(node: Node, target: Node, schema: SchemaNode, path: string): undefined {
    const near =
      schema.enum && isScalar(target) && typeof target.value === 'string'
        ? nearestWord(target.value, schema.enum)
        : undefined;
    const hint = near === undefined ? typeHint(target, schema) : `Did you mean "${near}"?`;
    source.report(`${path} must be ${expected(schema)}, not ${described(target)}`, node, path, { hint });
  }
}

/** `path.key`, safe to print. */
function shownPath(path: string, key: string): string {
  const plain = /^[\w-]{1,60}$/.test(key) ? key : quoted(key);
  return path === '' ? plain : `${path}.${plain}`;
}

function hasType(node: Node, schema: SchemaNode): boolean {
  if (isMap(node)) return schema.type === 'object';
  if (isSeq(node)) return schema.type === 'array';
  if (!isScalar(node)) return false;
  const { value } = node;
  if (schema.enum || schema.type === 'string') return typeof value === 'string';
  return schema.type === 'boolean'
    ? typeof value === 'boolean'
    : schema.type === 'integer' && typeof value === 'number';
}

function scalarFits(value: unknown, schema: SchemaNode): boolean {
  if (schema.enum) return schema.enum.includes(value as string);
  if (typeof value === 'number')
    return Number.isInteger(value) && value >= (schema.minimum ?? -Infinity) && value <= (schema.maximum ?? Infinity);
  if (typeof value !== 'string') return true;
  return (
    value.length >= (schema.minLength ?? 0) && (schema.pattern === undefined || new RegExp(schema.pattern).test(value))
  );
}

function expected(schema: SchemaNode): string {
  if (schema.expects !== undefined) return schema.expects;
  if (schema.enum) return `one of ${schema.enum.join(', ')}`;
  const names = {
    object: 'a map',
    array: 'a list',
    string: 'text',
    boolean: 'true or false',
    integer: 'a whole number',
  };
  return schema.type === undefined ? 'something else' : names[schema.type];
}

function typeHint(node: Node, schema: SchemaNode): string | undefined {
  if (!isScalar(node)) return undefined;
  const { value } = node;
  if (schema.type === 'boolean' && typeof value === 'string' && /^(?:yes|no|on|off|true|false)$/i.test(value)) {
    return `Write ${/^(?:yes|on|true)$/i.test(value) ? 'true' : 'false'}, without quotes.`;
  }
  if (schema.type === 'integer' && typeof value === 'string' && /^\d+$/.test(value)) return 'Leave the quotes out.';
  if (schema.type === 'string' && (typeof value === 'number' || typeof value === 'boolean')) return 'Put it in quotes.';
  return undefined;
}

function described(node: Node): string {
  if (isMap(node)) return 'a map';
  if (isSeq(node)) return 'a list';
  const value = isScalar(node) ? node.value : undefined;
  if (value === null) return 'empty';
  if (typeof value === 'string') return value === '' ? 'an empty text' : quoted(value);
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : 'a value of another type';
}
