// Parses imports and exports of a module, for the import graph, the tidy test and the pack task. Not packed.
import { parseSync } from 'rolldown/utils';

/**
 * One specifier of a module: `import`, `export ... from`, `import('literal')`, the type `import('literal').Name`,
 * `declare module 'literal'`, a package that `createRequire(import.meta.url)` loads or resolves, or
 * `import.meta.resolve('literal')`.
 */
export interface ImportSpecifier {
  readonly specifier: string;
  /** Offsets of the literal, including its quotes. */
  readonly start: number;
  readonly end: number;
  readonly kind: 'static' | 'dynamic';
  /** Whether the import is removed with the types. */
  readonly typeOnly: boolean;
  /** The named exports; `default`, or `*` for all exports. */
  readonly names: readonly string[];
}

/** Imports and exports of a module. */
export interface ModuleRecord {
  /** In source order. */
  readonly imports: readonly ImportSpecifier[];
  readonly exports: readonly string[];
  /** Names imported from modules with computed paths. */
  readonly namesOfComputedImports: readonly string[];
}

/** The used parts of a syntax tree. */
interface SyntaxNode {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** An `ImportExpression` or a `TSImportType`. */
interface ImportNode extends SyntaxNode {
  readonly source: { readonly type: string; readonly value?: string; readonly start: number; readonly end: number };
}

/**
 * Imports that the parser does not list: types `import('literal')`, calls that load or resolve a name, and
 * declarations that are merged into another module.
 */
const callOfImport = /\bimport\s*[(/]|\bcreateRequire\b|\bimport\.meta\.resolve\b|\bdeclare module\b/;

/**
 * The import specifiers of a source file, without dynamic imports of other expressions than literals.
 *
 * @throws {SyntaxError} that names the file, if it does not parse.
 */
export function readImports(file: string, text: string): readonly ImportSpecifier[] {
  return readModule(file, text).imports;
}

/**
 * The imports and exports of a source file.
 *
 * @throws {SyntaxError} that names the file, if it does not parse.
 */
export function readModule(file: string, text: string): ModuleRecord {
  const parsed = parseSync(file, text);
  const failure = parsed.errors[0];
  if (failure !== undefined) throw new SyntaxError(`${file}: ${failure.message}`);
  const imports: ImportSpecifier[] = [];
  const exports: string[] = [];
  const namesOfComputedImports: string[] = [];
  for (const { moduleRequest, entries } of parsed.module.staticImports) {
    const { value: specifier, start, end } = moduleRequest;
    const typeOnly = entries.length > 0 && entries.every((entry) => entry.isType);
    const names = entries.map(({ importName }) => nameOf(importName));
    imports.push({ specifier, start, end, kind: 'static', typeOnly, names });
  }
  for (const { entries } of parsed.module.staticExports) {
    for (const { exportName } of entries) if (exportName.kind !== 'None') exports.push(nameOf(exportName));
    const request = entries.find((entry) => entry.moduleRequest !== null)?.moduleRequest;
    if (!request) continue;
    const { value: specifier, start, end } = request;
    const typeOnly = entries.every((entry) => entry.isType);
    const names = entries.map(({ importName }) => nameOf(importName));
    imports.push({ specifier, start, end, kind: 'static', typeOnly, names });
  }
  // The tree is built only if needed, for one module in twenty: it takes six times as long as parsing.
  const needsTree = parsed.module.dynamicImports.length > 0 || callOfImport.test(text);
  const requires = new Set<string>();
  const seeImport = (node: SyntaxNode, above: readonly SyntaxNode[]): void => {
    const merged = mergedInto(node);
    if (merged !== null) {
      imports.push(merged);
      return;
    }
    const required = requiredBy(node, requires);
    if (required !== null) {
      const { start, end } = required as SyntaxNode & { readonly start: number; readonly end: number };
      const specifier = headOf(text.slice(start, end));
      // A relative path to a file that is not a module.
      if (specifier !== null && !specifier.startsWith('.'))
        imports.push({ specifier, start, end, kind: 'dynamic', typeOnly: false, names: ['*'] });
      return;
    }
    if (node.type !== 'ImportExpression' && node.type !== 'TSImportType') return;
    const { source } = node as ImportNode;
    const typeOnly = node.type === 'TSImportType';
    const names = typeOnly ? [firstName(node['qualifier'] as SyntaxNode | null)] : namesTaken(above);
    const specifier = literal(text.slice(source.start, source.end));
    if (specifier === null) namesOfComputedImports.push(...names);
    else
      imports.push({
        specifier,
        start: source.start,
        end: source.end,
        kind: typeOnly ? 'static' : 'dynamic',
        typeOnly,
        names,
      });
  };
  if (needsTree) visit(parsed.program as unknown as SyntaxNode, [], seeImport);
  return { imports: imports.sort((a, b) => a.start - b.start), exports, namesOfComputedImports };
}

/** `declare module './x.ts' { interface Name ... }`, which adds to an export of that module. */
function mergedInto(node: SyntaxNode): ImportSpecifier | null {
  const id = node['id'] as (SyntaxNode & { readonly start: number; readonly end: number }) | undefined;
  if (node.type !== 'TSModuleDeclaration' || id?.type !== 'Literal') return null;
  const { body = [] } = (node['body'] ?? {}) as { body?: readonly SyntaxNode[] };
  const names = body.map((statement) => String((statement['id'] as SyntaxNode | undefined)?.['name'] ?? '*'));
  const { start, end } = id;
  return { specifier: String(id['value']), start, end, kind: 'static', typeOnly: true, names };
}

/**
 * The argument of a call that loads or resolves a module by its name.
 *
 * @param requires names of variables that hold what `createRequire` made; those that the node declares are added.
 */
function requiredBy(node: SyntaxNode, requires: Set<string>): SyntaxNode | null {
  if (node.type === 'VariableDeclarator') {
    const { id, init } = node as SyntaxNode & { readonly id: SyntaxNode; readonly init: SyntaxNode | null };
    if (init !== null && makesRequire(bare(init))) requires.add(String(id['name']));
    return null;
  }
  if (node.type !== 'CallExpression') return null;
  const called = bare(node['callee'] as SyntaxNode);
  const isResolve = called.type === 'MemberExpression' && (called['property'] as SyntaxNode)['name'] === 'resolve';
  const by = isResolve ? bare(called['object'] as SyntaxNode) : called;
  const isRequire = (by.type === 'Identifier' && requires.has(String(by['name']))) || makesRequire(by);
  if (!isRequire && !(isResolve && by.type === 'MetaProperty')) return null;
  return (node['arguments'] as readonly SyntaxNode[])[0] ?? null;
}

/** Whether the call creates a `require` for this module rather than another folder. */
function makesRequire(node: SyntaxNode): boolean {
  if (node.type !== 'CallExpression' || (node['callee'] as SyntaxNode)['name'] !== 'createRequire') return false;
  const [place] = node['arguments'] as readonly SyntaxNode[];
  return place?.type === 'MemberExpression' && (place['object'] as SyntaxNode).type === 'MetaProperty';
}

/** Strips type syntax from an expression. */
function bare(node: SyntaxNode): SyntaxNode {
  return ['TSAsExpression', 'ParenthesizedExpression', 'TSNonNullExpression'].includes(node.type)
    ? bare(node['expression'] as SyntaxNode)
    : node;
}

/** A literal, or the static start of a template that names a package. */
function headOf(text: string): string | null {
  return literal(text) ?? /^`((?:@[\w.-]+\/)?[\w.-]+\/)[^`]*\$\{/.exec(text)?.[1] ?? null;
}

function literal(text: string): string | null {
  return /^(['"`])([^'"`$]*)\1$/.exec(text)?.[2] ?? null;
}

function nameOf({ kind, name }: { readonly kind: string; readonly name?: string | null }): string {
  return kind === 'Name' ? name! : kind === 'Default' ? 'default' : '*';
}

/** The first name of `import('./x.ts').name.deeper`. */
function firstName(qualifier: SyntaxNode | null): string {
  if (qualifier === null) return '*';
  return qualifier.type === 'Identifier' ? String(qualifier['name']) : firstName(qualifier['left'] as SyntaxNode);
}

/**
 * The names that the expression around an `import()` reads from its result: by a pattern, a member, or the parameter of
 * `then`.
 */
function namesTaken(above: readonly SyntaxNode[]): readonly string[] {
  const transparent = ['AwaitExpression', 'ParenthesizedExpression', 'TSAsExpression'];
  const around = above.filter(({ type }) => !transparent.includes(type));
  const [outer, call] = [around.at(-1), around.at(-2)];
  if (outer?.type === 'VariableDeclarator') return patternNames(outer['id'] as SyntaxNode);
  if (outer?.type !== 'MemberExpression' || outer['computed'] === true) return ['*'];
  const { name } = outer['property'] as unknown as { name: string };
  if (name !== 'then') return [name];
  const [callback] = (call?.['arguments'] ?? []) as { params?: SyntaxNode[] }[];
  return callback?.params?.[0] === undefined ? ['*'] : patternNames(callback.params[0]);
}

function patternNames(pattern: SyntaxNode): readonly string[] {
  if (pattern.type !== 'ObjectPattern') return ['*'];
  return (pattern['properties'] as { key?: { name?: string } }[]).map(({ key }) => key?.name ?? '*');
}

/**
 * The positions of `import.meta` in a module, in source order.
 *
 * @throws {SyntaxError} that names the file, if it does not parse.
 */
export function readMetaProperties(file: string, text: string): readonly { start: number; end: number }[] {
  if (!text.includes('import.meta')) return [];
  const parsed = parseSync(file, text);
  const failure = parsed.errors[0];
  if (failure !== undefined) throw new SyntaxError(`${file}: ${failure.message}`);
  const places: { start: number; end: number }[] = [];
  visit(parsed.program as unknown as SyntaxNode, [], (node) => {
    const { type, start, end } = node as SyntaxNode & { readonly start: number; readonly end: number };
    if (type === 'MetaProperty' && text.startsWith('import', start)) places.push({ start, end });
  });
  return places.sort((a, b) => a.start - b.start);
}

/**
 * How often each identifier occurs in a module: once for an export that the module itself does not use.
 *
 * @throws {SyntaxError} that names the file, if it does not parse.
 */
export function countNames(file: string, text: string): ReadonlyMap<string, number> {
  const parsed = parseSync(file, text);
  const failure = parsed.errors[0];
  if (failure !== undefined) throw new SyntaxError(`${file}: ${failure.message}`);
  const counts = new Map<string, number>();
  visit(parsed.program as unknown as SyntaxNode, [], (node) => {
    if (!node.type.endsWith('Identifier')) return;
    const name = String(node['name']);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  });
  return counts;
}

/** Metrics of a module's syntax tree. */
interface ModuleShape {
  /** Functions by name and length; the lines of a nested function count for the outer functions, too. */
  readonly functions: readonly { readonly name: string; readonly line: number; readonly lines: number }[];
  /** Classes that extend a class whose name ends in `Error`. */
  readonly errorClasses: readonly string[];
}

/** @throws {SyntaxError} that names the file, if it does not parse. */
export function readShape(file: string, text: string): ModuleShape {
  const parsed = parseSync(file, text);
  const failure = parsed.errors[0];
  if (failure !== undefined) throw new SyntaxError(`${file}: ${failure.message}`);
  const functions: { name: string; line: number; lines: number }[] = [];
  const errorClasses: string[] = [];
  const lineAt = (offset: number): number => text.slice(0, offset).split('\n').length;
  visit(parsed.program as unknown as SyntaxNode, [], (node, above) => {
    const { type, start, end } = node as SyntaxNode & { readonly start: number; readonly end: number };
    if (/^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(type)) {
      const line = lineAt(start);
      functions.push({ name: functionName(node, above.at(-1)), line, lines: lineAt(end) - line + 1 });
    }
    const base = (node['superClass'] as SyntaxNode | null | undefined)?.['name'];
    if (type.startsWith('Class') && typeof base === 'string' && base.endsWith('Error'))
      errorClasses.push(String((node['id'] as SyntaxNode | null)?.['name'] ?? 'anonymous'));
  });
  return { functions, errorClasses };
}

function functionName(node: SyntaxNode, parent: SyntaxNode | undefined): string {
  for (const id of [node['id'], parent?.['id'], parent?.['key']]) {
    const name = (id as SyntaxNode | null | undefined)?.['name'];
    if (typeof name === 'string') return name;
  }
  return 'anonymous';
}

/** Calls `see` for every node with its ancestors, nearest last. */
function visit(
  node: SyntaxNode,
  above: SyntaxNode[],
  see: (node: SyntaxNode, above: readonly SyntaxNode[]) => void,
): void {
  see(node, above);
  above.push(node);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (typeof child === 'object' && child !== null && 'type' in child) visit(child as SyntaxNode, above, see);
    }
  }
  above.pop();
}
