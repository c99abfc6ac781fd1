// Applies an update document (`$set $unset $inc $push $pop`, docs/state.md) to a JSON value. Pure: stores call it
// inside their transaction.
import { PlatformError } from '#core/errors.ts';

/** A parsed update, with operators in the order in which they are applied. */
type UpdateDocument = readonly {
  readonly operator: Operator;
  readonly path: readonly string[];
  readonly value: unknown;
}[];

const operators = ['$set', '$unset', '$inc', '$push', '$pop'] as const;
type Operator = (typeof operators)[number];

const PATHS_MAX = 1000;
const DEPTH_MAX = 100;
/** How many elements an index may skip, because one large index could create an array of millions. */
const GAP_MAX = 1000;

/** Checks a worker's update document. @throws {PlatformError} `invalid_argument` naming the operator and field. */
export function parseUpdate(document: unknown): UpdateDocument {
  if (document === null || typeof document !== 'object' || Array.isArray(document))
    throw invalid('The update document must be an object');
  const given = Object.keys(document);
  if (given.length === 0) throw invalid(`The update document is empty: it must use ${operators.join(', ')}`);
  const update: { operator: Operator; path: string[]; value: unknown }[] = [];
  for (const operator of given) {
    if (!isOperator(operator))
      throw invalid(`The update document has "${operator.slice(0, 100)}", but supports only ${operators.join(', ')}`);
    const fields = (document as Record<string, unknown>)[operator];
    if (fields === null || typeof fields !== 'object' || Array.isArray(fields))
      throw invalid(`${operator} must be an object of fields`);
    for (const [field, value] of Object.entries(fields)) {
      const path = field.split('.');
      if (path.some((step) => step === '' || step === '__proto__') || path.length > DEPTH_MAX)
        throw invalid(`${operator} has the field "${field.slice(0, 100)}", which is not a path`);
      if (operator === '$inc' && (typeof value !== 'number' || !Number.isFinite(value)))
        throw invalid(`$inc.${field} must be a finite number`);
      if (operator === '$pop' && value !== 1 && value !== -1)
        throw invalid(`$pop.${field} must be 1 (the last) or -1 (the first)`);
      update.push({ operator, path, value });
    }
  }
  if (update.length > PATHS_MAX)
    throw invalid(`The update document has ${update.length} fields, and may have ${PATHS_MAX}`);
  return update;
}

function isOperator(name: string): name is Operator {
  return (operators as readonly string[]).includes(name);
}

/**
 * The value after an update. An absent value is treated as `{}`.
 *
 * @param before the old value, which is modified and returned, because a value of up to 25 MB is not copied. It must
 * not be used afterwards, even after an error.
 * @throws {PlatformError} `invalid_argument` when a field has a type that the operator cannot change.
 * @example applyUpdate({ visits: 1 }, parseUpdate({ $inc: { visits: 1 } })) // { visits: 2 }
 */
export function applyUpdate(before: unknown, update: UpdateDocument): unknown {
  const root = before === undefined ? {} : before;
  if (root === null || typeof root !== 'object')
    throw invalid('The value is not a JSON object, so it has no fields to update');
  for (const { operator, path, value } of update) {
    const parent = parentOf(root as Fields, path, operator !== '$unset' && operator !== '$pop');
    if (parent === null) continue;
    const field = path.at(-1) as string;
    const name = path.join('.');
    if (Array.isArray(parent)) {
      if (!/^\d{1,6}$/.test(field)) throw invalid(`${operator}.${name}: "${field}" is not an index of an array`);
      if (operator !== '$unset' && operator !== '$pop') fill(parent, field, name);
    }
    const current = Object.hasOwn(parent, field) ? parent[field] : undefined;
    switch (operator) {
      case '$set':
        parent[field] = copied(value);
        break;
      case '$unset':
        if (Array.isArray(parent) && current !== undefined) parent[field] = null;
        else delete parent[field];
        break;
      case '$inc':
        if (current !== undefined && typeof current !== 'number')
          throw invalid(`$inc.${name}: the field is not a number`);
        parent[field] = sumOf(current ?? 0, value as number, name);
        break;
      case '$push':
        if (current !== undefined && !Array.isArray(current)) throw invalid(`$push.${name}: the field is not an array`);
        if (current === undefined) parent[field] = [copied(value)];
        else current.push(copied(value));
        break;
      case '$pop':
        if (current === undefined) break;
        if (!Array.isArray(current)) throw invalid(`$pop.${name}: the field is not an array`);
        if (value === 1) current.pop();
        else current.shift();
        break;
    }
  }
  return root;
}

type Fields = Record<string, unknown>;

/** Without this check, numbers that JSON cannot represent would be stored as null. */
function sumOf(current: number, added: number, name: string): number {
  const sum = current + added;
  if (!Number.isFinite(sum)) throw invalid(`$inc.${name}: ${current} and ${added} are more than a number can be`);
  return sum;
}

/**
 * Returns a copy, which later operators may change. The document stays the same, because a store may have to apply it
 * again.
 */
function copied(value: unknown): unknown {
  return value !== null && typeof value === 'object' ? structuredClone(value) : value;
}

/** Fills the elements that an index skips with null. */
function fill(array: unknown[], index: string, name: string): void {
  const gap = Number(index) - array.length;
  if (gap > GAP_MAX)
    throw invalid(`${name}: the array has ${array.length} elements, and an index may leave out ${GAP_MAX}`);
  for (let left = gap; left > 0; left--) array.push(null);
}

/** The container of a path's last step; null if it does not exist and must not be created. */
function parentOf(root: Fields, path: readonly string[], create: boolean): Fields | null {
  let at = root;
  for (const step of path.slice(0, -1)) {
    const next = Object.hasOwn(at, step) ? at[step] : undefined;
    if (next === undefined) {
      if (!create) return null;
      if (Array.isArray(at)) {
        if (!/^\d{1,6}$/.test(step))
          throw invalid(`"${step}" of the path ${path.join('.')} is not an index of an array`);
        fill(at, step, path.join('.'));
      }
      at = at[step] = {};
    } else if (next === null || typeof next !== 'object') {
      throw invalid(`"${step}" of the path ${path.join('.')} is not an object`);
    } else at = next as Fields;
  }
  return at;
}

/** Parses the stored JSON for an update. @throws {PlatformError} `invalid_argument`. */
export function fromJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw invalid('The value is not JSON, so it cannot be updated');
  }
}

function invalid(reason: string): PlatformError {
  return new PlatformError('invalid_argument', { reason });
}
