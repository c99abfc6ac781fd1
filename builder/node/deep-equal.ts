// Deep comparison, strict and loose. Bundled with node:util and node:assert.

/** Whether two values have the same structure, types and content; cycles are followed once. */
export function isDeepStrictEqual(a: unknown, b: unknown): boolean {
  return equal(a, b, [], true);
}

/** Like {@link isDeepStrictEqual}, with `==` for primitives and without comparing prototypes. */
export function isDeepLooseEqual(a: unknown, b: unknown): boolean {
  return equal(a, b, [], false);
}

type Pairs = readonly (readonly [object, object])[];

function equal(a: unknown, b: unknown, pairs: Pairs, strict: boolean): boolean {
  // oxlint-disable-next-line eqeqeq
  if (Object.is(a, b) || (!strict && a == b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (pairs.some(([left, right]) => left === a && right === b)) return true;
  if (tagOf(a) !== tagOf(b)) return false;
  const inner = [...pairs, [a, b] as const];
  if (a instanceof Date || a instanceof RegExp)
    return String(a) === String(b) && a.valueOf().toString() === b.valueOf().toString();
  if (a instanceof Error && (a.name !== (b as Error).name || a.message !== (b as Error).message)) return false;
  if (a instanceof Map && !equalMaps(a, b as Map<unknown, unknown>, inner, strict)) return false;
  if (a instanceof Set && !equalSets(a, b as Set<unknown>, inner, strict)) return false;
  if (Array.isArray(a) && a.length !== (b as unknown[]).length) return false;
  const keys = ownEnumerable(a);
  if (keys.length !== ownEnumerable(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && equal(Reflect.get(a, key), Reflect.get(b, key), inner, strict));
}

function tagOf(value: object): string {
  return Object.prototype.toString.call(value);
}

function ownEnumerable(value: object): PropertyKey[] {
  return Reflect.ownKeys(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));
}

function equalMaps(a: Map<unknown, unknown>, b: Map<unknown, unknown>, pairs: Pairs, strict: boolean): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.has(key) && equal(value, b.get(key), pairs, strict));
}

function equalSets(a: Set<unknown>, b: Set<unknown>, pairs: Pairs, strict: boolean): boolean {
  return (
    a.size === b.size &&
    [...a].every((value) => b.has(value) || [...b].some((other) => equal(value, other, pairs, strict)))
  );
}
