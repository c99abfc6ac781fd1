// Reads the import specifiers of a module with a real parser: the tidy test judges them, the pack task rewrites them.
// Part of the repository's own tooling; not packed.
import { parseSync } from 'rolldown/utils';

/** One specifier of a module: `import`, `export ... from`, or `import('literal')`. */
export interface ImportSpecifier {
  readonly specifier: string;
  /** Offsets of the literal, quotes included. */
  readonly start: number;
  readonly end: number;
  readonly kind: 'static' | 'dynamic';
  /** Erased when types are stripped. */
  readonly typeOnly: boolean;
}

/**
 * The import specifiers of a source file; dynamic imports of anything but a literal are left out.
 *
 * @throws {SyntaxError} naming the file, when it does not parse.
 */
export function readImports(file: string, text: string): ImportSpecifier[] {
  const parsed = parseSync(file, text);
  const failure = parsed.errors[0];
  if (failure !== undefined) throw new SyntaxError(`${file}: ${failure.message}`);
  const found: ImportSpecifier[] = [];
  for (const { moduleRequest, entries } of parsed.module.staticImports) {
    const { value: specifier, start, end } = moduleRequest;
    found.push({
      specifier,
      start,
      end,
      kind: 'static',
      typeOnly: entries.length > 0 && entries.every((entry) => entry.isType),
    });
  }
  for (const { entries } of parsed.module.staticExports) {
    const request = entries.find((entry) => entry.moduleRequest !== null)?.moduleRequest;
    if (!request) continue;
    const { value: specifier, start, end } = request;
    found.push({ specifier, start, end, kind: 'static', typeOnly: entries.every((entry) => entry.isType) });
  }
  for (const { moduleRequest } of parsed.module.dynamicImports) {
    const { start, end } = moduleRequest;
    const literal = /^(['"`])([^'"`$]*)\1$/.exec(text.slice(start, end));
    if (literal) found.push({ specifier: literal[2]!, start, end, kind: 'dynamic', typeOnly: false });
  }
  return found.sort((a, b) => a.start - b.start);
}
