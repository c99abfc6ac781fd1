// Edits tsconfig.json of a project so that it includes env.d.ts, with minimal changes, and lists the files it names.
// Called by `platform types`, which reads and writes the file, and by the builder. No I/O; comments, indentation,
// line breaks and byte order mark are kept.
import {
  applyEdits,
  modify,
  parseTree,
  printParseErrorCode,
  type JSONPath,
  type Node,
  type ParseError,
} from 'jsonc-parser';
import { typesPackage } from './environment-types.ts';
import type { Problem } from '../problem.ts';

/** Result of editing a tsconfig.json: the new text, or the reason why it was not changed. */
type TsconfigEdit = { readonly text: string; readonly changed: boolean } | { readonly problem: Problem };

/** The file for a project that has no tsconfig.json. Packages linked from a clone import their files as `.ts`. */
function newTsconfig(environmentFile: string, paths: Readonly<Record<string, string>>): string {
  const names = Object.entries(paths).map(
    ([name, target]) => `\n      ${JSON.stringify(name)}: [${JSON.stringify(target)}]`,
  );
  return `{
  "compilerOptions": {
    "target": "es2024",
    "lib": ["es2024"],
    "module": "esnext",
    "moduleResolution": "bundler",
    "strict": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "skipLibCheck": true,
    "types": ["${typesPackage}"]${names.length === 0 ? '' : `,\n    "paths": {${names.join(',')}\n    }`}
  },
  "include": ["src", ${JSON.stringify(environmentFile)}]
}
`;
}

/**
 * Adds env.d.ts to `include` (or `files`) if those exclude it, and the types package to `compilerOptions.types` if
 * there is such a list.
 *
 * @param text content of the file, or null.
 * @param options.environmentFile path of env.d.ts relative to the folder of the file, with `/`.
 * @param options.file name for a problem.
 * @param options.paths entries to add to `compilerOptions.paths` if missing. A file that extends another file and has
 * no `paths` is not changed, because its own `paths` would replace the inherited ones.
 */
export function addToTsconfig(
  text: string | null,
  options: {
    readonly environmentFile: string;
    readonly file: string;
    readonly paths?: Readonly<Record<string, string>>;
  },
): TsconfigEdit {
  const { environmentFile, file, paths = {} } = options;
  if (text === null) return { text: newTsconfig(environmentFile, paths), changed: true };
  const mark = text.startsWith('\ufeff') ? '\ufeff' : '';
  let plain = text.slice(mark.length);
  const errors: ParseError[] = [];
  const root = parseTree(plain, errors, { allowTrailingComma: true });
  const problem = problemOf(plain, root, errors, file);
  if (problem !== undefined) return { problem };
  const types = childOf(childOf(root, 'compilerOptions'), 'types');
  if (types?.type === 'array' && !stringsOf(types).includes(typesPackage)) {
    plain = append(plain, ['compilerOptions', 'types'], types, typesPackage);
  }
  const include = childOf(root, 'include');
  const files = childOf(root, 'files');
  // Without `include` and `files`, every file below counts; with only `files`, only these.
  const list =
    include?.type === 'array'
      ? (['include', include] as const)
      : files?.type === 'array'
        ? (['files', files] as const)
        : undefined;
  const covered = [...stringsOf(include), ...stringsOf(files)].some((pattern) => covers(pattern, environmentFile));
  // Parsed again, because the edit above may have moved everything.
  if (list !== undefined && !covered)
    plain = append(
      plain,
      [list[0]],
      childOf(parseTree(plain, [], { allowTrailingComma: true }), list[0])!,
      environmentFile,
    );
  plain = addPaths(plain, paths);
  return { text: mark + plain, changed: mark + plain !== text };
}

/**
 * Files that a tsconfig.json names by path under `extends` and `references`, with their position; package names are
 * omitted.
 */
export function tsconfigLinks(
  text: string,
): { readonly path: string; readonly line: number; readonly column: number }[] {
  const root = parseTree(text.replace(/^\ufeff/, ' '), [], { allowTrailingComma: true });
  const references = childOf(root, 'references')?.children?.map((reference) => childOf(reference, 'path')) ?? [];
  const extended = childOf(root, 'extends');
  const nodes = [...references, ...(extended?.type === 'array' ? (extended.children ?? []) : [extended])];
  return nodes.flatMap((node) => {
    const path: unknown = node?.value;
    if (node === undefined || typeof path !== 'string' || path === '') return [];
    if (!references.includes(node) && !/^(?:\.{0,2}[\\/]|\.{1,2}$|[A-Za-z]:)/.test(path)) return [];
    const before = text.slice(0, node.offset).split('\n');
    return [{ path, line: before.length, column: before.at(-1)!.length + 1 }];
  });
}

/** Files that `include` and `files` name by path; patterns are omitted. */
export function namedFiles(text: string): string[] {
  const root = parseTree(text.replace(/^\ufeff/, ' '), [], { allowTrailingComma: true });
  return [...stringsOf(childOf(root, 'include')), ...stringsOf(childOf(root, 'files'))].filter(
    (name) => !/[*?]/.test(name),
  );
}

function addPaths(text: string, paths: Readonly<Record<string, string>>): string {
  let plain = text;
  for (const [name, target] of Object.entries(paths)) {
    const root = parseTree(plain, [], { allowTrailingComma: true });
    const found = childOf(childOf(root, 'compilerOptions'), 'paths');
    if (childOf(found, name) !== undefined) continue;
    if (found === undefined && childOf(root, 'extends') !== undefined) return plain;
    const edit = modify(plain, ['compilerOptions', 'paths', name], [target], {
      formattingOptions: formattingOf(plain),
    });
    plain = applyEdits(plain, edit);
  }
  return plain;
}

function formattingOf(text: string): { insertSpaces: boolean; tabSize: number; eol: string } {
  return {
    insertSpaces: !/^\t/m.test(text),
    tabSize: indentOf(text),
    eol: text.includes('\r\n') ? '\r\n' : '\n',
  };
}

function problemOf(
  text: string,
  root: Node | undefined,
  errors: readonly ParseError[],
  file: string,
): Problem | undefined {
  const first = errors[0];
  if (first === undefined && root?.type === 'object') return undefined;
  const message =
    first === undefined ? 'The file must be an object' : `Invalid JSON: ${printParseErrorCode(first.error)}`;
  const before = text.slice(0, first?.offset ?? 0).split('\n');
  return { message, severity: 'error', file, line: before.length, column: before.at(-1)!.length + 1, path: '' };
}

/** Appends a text to a list, directly after the last item, so that a list on one line stays on one line. */
function append(text: string, path: JSONPath, list: Node, value: string): string {
  const items = list.children ?? [];
  const last = items.at(-1);
  if (last === undefined) {
    return applyEdits(text, modify(text, path, [value], { formattingOptions: formattingOf(text) }));
  }
  const end = last.offset + last.length;
  const before = items.at(-2);
  // Copies the separator of the existing items: a space, or a line break and its indentation.
  const lineStart = text.lastIndexOf('\n', last.offset) + 1;
  const ownLine = /^[ \t]*$/.test(text.slice(lineStart, last.offset)) && lineStart > list.offset;
  const eol = text[lineStart - 2] === '\r' ? '\r\n' : '\n';
  const gap = ownLine
    ? eol + text.slice(lineStart, last.offset)
    : before === undefined || /\s/.test(text[last.offset - 1]!)
      ? ' '
      : '';
  return `${text.slice(0, end)},${gap}${JSON.stringify(value)}${text.slice(end)}`;
}

function indentOf(text: string): number {
  return /^( +)"/m.exec(text)?.[1]?.length ?? 2;
}

/** The last property of that name, which JSON.parse would use. */
function childOf(node: Node | undefined, name: string): Node | undefined {
  if (node?.type !== 'object') return undefined;
  return node.children?.findLast((property) => property.children?.[0]?.value === name)?.children?.[1];
}

function stringsOf(list: Node | undefined): string[] {
  return (list?.children ?? []).map((item) => item.value as unknown).filter((value) => typeof value === 'string');
}

/** Whether a pattern of `include` certainly covers a file; if unsure, the result is a harmless extra entry. */
function covers(pattern: string, file: string): boolean {
  const plain = pattern.replace(/^\.\//, '').replace(/\/+$/, '');
  if (plain === file || plain === '' || plain === '.' || plain === '**/*' || plain === '**') return true;
  const folder = plain.replace(/\/\*\*(?:\/\*)?$/, '');
  if (!/[*?]/.test(folder)) return file.startsWith(`${folder}/`);
  const rest = plain.startsWith('**/') ? file.slice(file.lastIndexOf('/') + 1) : file;
  const name = plain.startsWith('**/') ? plain.slice(3) : plain;
  return /^\*(?:\.d)?\.ts$/.test(name) && !rest.includes('/') && rest.endsWith(name.slice(1));
}
