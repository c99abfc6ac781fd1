// Path -> route: a tree of segments, and a map for paths without parameters. Built once per app, immutable
// afterwards. Independent of requests.

/** Routes at the end of a path, by method; `ALL` handles every method. */
type Leaf<T> = Map<string, T>;

interface Node<T> {
  readonly statics: Map<string, Node<T>>;
  parameter: Node<T> | null;
  leaf: Leaf<T> | null;
  wildcard: Leaf<T> | null;
}

/** A segment of a pattern. */
export type Segment =
  | { readonly kind: 'static'; readonly text: string }
  | { readonly kind: 'parameter'; readonly name: string }
  | { readonly kind: 'wildcard' };

/** Result of looking up a path. */
type Found<T> =
  | { readonly kind: 'route'; readonly route: T; readonly values: readonly string[] }
  /** The path has routes, but not for this method. */
  | { readonly kind: 'method'; readonly allowed: readonly string[]; readonly routes: readonly T[] }
  | { readonly kind: 'none' }
  /** The path contains a percent sign without two digits, or invalid UTF-8. */
  | { readonly kind: 'malformed' };

/** A table of routes. */
interface Router<T> {
  find(method: string, path: string): Found<T>;
}

const none = { kind: 'none' } as const;
const malformed = { kind: 'malformed' } as const;
const noValues: readonly string[] = [];

/**
 * The segments of a pattern such as `/users/:id/files/*`, one list for each way to omit an optional end (`/:page?`).
 *
 * @throws TypeError for an invalid pattern.
 */
export function readPattern(pattern: string): Segment[][] {
  if (!pattern.startsWith('/')) throw new TypeError(`The path ${pattern} does not begin with /`);
  if (/[?#]/.test(pattern.replace(/\?$/, '')))
    throw new TypeError(`The path ${pattern} contains a query or a fragment`);
  const parts = pattern.slice(1).split('/');
  const segments: Segment[] = [];
  const names = new Set<string>();
  let shorter: Segment[] | null = null;
  for (const [at, part] of parts.entries()) {
    const last = at === parts.length - 1;
    if (part === '*') {
      if (!last) throw new TypeError(`The path ${pattern} continues after *`);
      segments.push({ kind: 'wildcard' });
    } else if (part.startsWith(':')) {
      const optional = part.endsWith('?');
      const name = part.slice(1, optional ? -1 : undefined);
      if (!/^[A-Za-z_][\w-]*$/.test(name) || name === '__proto__')
        throw new TypeError(`The path ${pattern} contains ${part}, which is not a parameter`);
      if (names.has(name)) throw new TypeError(`The path ${pattern} names ${name} twice`);
      if (optional && !last) throw new TypeError(`The path ${pattern} continues after ${part}`);
      names.add(name);
      if (optional) shorter = [...segments];
      segments.push({ kind: 'parameter', name });
    } else {
      if (/[:*?]/.test(part))
        throw new TypeError(`The path ${pattern} contains ${part}: a parameter is a whole segment`);
      segments.push({ kind: 'static', text: decode(part) ?? part });
    }
  }
  if (shorter === null) return [segments];
  return [shorter.length === 0 ? [{ kind: 'static', text: '' }] : shorter, segments];
}

/** Names of the parameters of a pattern, in order; the name of the wildcard is `*`. */
export function parameterNames(segments: readonly Segment[]): string[] {
  return segments.flatMap((segment) =>
    segment.kind === 'parameter' ? [segment.name] : segment.kind === 'wildcard' ? ['*'] : [],
  );
}

/** Builds the table. @throws TypeError when two routes match the same requests. */
export function createRouter<T>(
  routes: Iterable<readonly [method: string, segments: readonly Segment[], route: T, pattern: string]>,
): Router<T> {
  const root = newNode<T>();
  const plain = new Map<string, Leaf<T>>();
  for (const [method, segments, route, pattern] of routes) {
    let node = root;
    let isWild = false;
    for (const segment of segments) {
      if (segment.kind === 'static') node = getOr(node.statics, segment.text, newNode<T>);
      else if (segment.kind === 'parameter') node = node.parameter ??= newNode<T>();
      else isWild = true;
    }
    const leaf = isWild ? (node.wildcard ??= new Map()) : (node.leaf ??= new Map());
    if (leaf.has(method)) throw new TypeError(`There are two routes ${method} ${pattern}`);
    leaf.set(method, route);
    if (segments.every(({ kind }) => kind === 'static')) {
      const path = `/${segments.map((segment) => (segment as { text: string }).text).join('/')}`;
      if (!/[%\u0080-\uffff]/.test(path)) plain.set(path, leaf);
    }
  }
  return {
    find(method, path) {
      const direct = plain.get(path)?.get(method);
      if (direct !== undefined) return { kind: 'route', route: direct, values: noValues };
      const parts = splitPath(path);
      if (parts === null) return malformed;
      const search = new Search<T>(method, parts);
      const route = search.walk(root, 0);
      if (route !== null) return { kind: 'route', route, values: search.values };
      return search.leaves.length === 0 ? none : refused(search.leaves);
    },
  };
}

function refused<T>(leaves: readonly Leaf<T>[]): Found<T> {
  const methods = new Set(leaves.flatMap((leaf) => [...leaf.keys()]));
  return { kind: 'method', allowed: [...methods], routes: leaves.flatMap((leaf) => [...leaf.values()]) };
}

/**
 * A lookup tries static segments before parameters, and parameters before wildcards, with backtracking if a branch
 * lacks the method.
 */
class Search<T> {
  readonly #method: string;
  readonly #parts: readonly string[];
  readonly values: string[] = [];
  /** The matching routes that lack the method. */
  readonly leaves: Leaf<T>[] = [];

  constructor(method: string, parts: readonly string[]) {
    this.#method = method;
    this.#parts = parts;
  }

  walk(node: Node<T>, at: number): T | null {
    if (at === this.#parts.length) return this.#end(node.leaf);
    const part = this.#parts[at]!;
    const fixed = node.statics.get(part);
    if (fixed !== undefined) {
      const found = this.walk(fixed, at + 1);
      if (found !== null) return found;
    }
    if (node.parameter !== null && part !== '') {
      this.values.push(part);
      const found = this.walk(node.parameter, at + 1);
      if (found !== null) return found;
      this.values.pop();
    }
    if (node.wildcard === null) return null;
    const found = this.#end(node.wildcard);
    if (found !== null) this.values.push(this.#parts.slice(at).join('/'));
    return found;
  }

  #end(leaf: Leaf<T> | null): T | null {
    if (leaf === null) return null;
    const found = leaf.get(this.#method) ?? leaf.get('ALL');
    if (found !== undefined) return found;
    this.leaves.push(leaf);
    return null;
  }
}

/** Decoded segments; null if a segment cannot be decoded. A `%2F` stays inside its segment. */
function splitPath(path: string): string[] | null {
  const parts = path.slice(1).split('/');
  if (!path.includes('%')) return parts;
  for (let at = 0; at < parts.length; at++) {
    const decoded = decode(parts[at]!);
    if (decoded === null) return null;
    parts[at] = decoded;
  }
  return parts;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function newNode<T>(): Node<T> {
  return { statics: new Map(), parameter: null, leaf: null, wildcard: null };
}

function getOr<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}
