// What a module imports and exports, read with a real parser: the import graph and the tidy test judge it, the pack
// task rewrites its specifiers. Not packed.
import { parseSync } from 'rolldown/utils';

/**
 * One specifier of a module: `import`, `export ... from`, `import('literal')`, or the type `import('literal').Name`.
 */
export interface ImportSpecifier {
  readonly specifier: string;
  /** Offsets of the literal, quotes included. */
  readonly start: number;
  readonly end: number;
  readonly kind: 'static' | 'dynamic';
  /** Erased when types are stripped. */
  readonly typeOnly: boolean;
  /** The exports it names: `default`, and `*` for all of them. */
  readonly names: readonly string[];
}

/** What a module takes from others and offers them. */
export interface ModuleRecord {
  /** In the order of the text. */
  readonly imports: readonly ImportSpecifier[];
  readonly exports: readonly string[];
  /** Names it takes from modules whose path it computes when it runs. */
  readonly namesOfComputedImports: readonly string[];
}

/** The parts of a syntax tree that are looked at here. */
interface SyntaxNode {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** An `ImportExpression` or a `TSImportType`. */
interface ImportNode extends SyntaxNode {
  readonly source: { readonly type: string; readonly value?: string; readonly start: number; readonly end: number };
}

/** How every type `import('literal')` begins, which the parser does not list. */
const callOfImport = /\bimport\s*[(/]/;

/**
 * The import specifiers of a source file; dynamic imports of anything but a literal are left out.
 *
 * @throws {SyntaxError} naming the file, when it does not parse.
 */
export function readImports(file: string, text: string): readonly ImportSpecifier[] {
  return readModule(file, text).imports;
}

/**
 * The imports and exports of a source file.
 *
 * @throws {SyntaxError} naming the file, when it does not parse.
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
  // The tree costs six times what the parser does, and one module of twenty needs it.
  const needsTree = parsed.module.dynamicImports.length > 0 || callOfImport.test(text);
  const seeImport = (node: SyntaxNode, above: readonly SyntaxNode[]): void => {
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
 * The names that the expression around an `import()` takes from it: by a pattern, a member, or the parameter of
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

/** Calls `see` for every node of a tree, with the nodes above it, the nearest last. */
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
