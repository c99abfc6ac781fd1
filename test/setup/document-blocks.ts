// The fenced blocks of the documents, and the lines of a shell that stand in them. For test/unit/docs.
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '#cli/tasks/tools/processes.ts';

/** One block. */
export interface Block {
  /** `docs/queue.md:12`. */
  readonly where: string;
  readonly file: string;
  /** '' where none is said. */
  readonly language: string;
  /** What stands behind the language: why nothing checks this block. '' where nothing does. */
  readonly reason: string;
  readonly text: string;
}

/** Every block of the documents. */
export function readBlocks(): Block[] {
  return globSync(['docs/**/*.md', '*.md'], { cwd: root })
    .sort()
    .flatMap((file) => blocksOf(file, readFileSync(path.join(root, file), 'utf8')));
}

/** The blocks of a page. @throws {Error} where one has no end. */
export function blocksOf(file: string, page: string): Block[] {
  const blocks: Block[] = [];
  let open: { line: number; indent: string; head: string; lines: string[] } | null = null;
  for (const [index, line] of page.split('\n').entries()) {
    const [, indent, head] = /^( *)```(.*)$/.exec(line) ?? [];
    if (open === null) {
      if (head !== undefined) open = { line: index + 1, indent: indent!, head, lines: [] };
    } else if (head === '') {
      const [language = '', ...reason] = open.head.trim().split(/\s+/);
      const text = open.lines.map((one) => `${one.slice(open!.indent.length)}\n`).join('');
      blocks.push({ where: `${file}:${open.line}`, file, language, reason: reason.join(' '), text });
      open = null;
    } else open.lines.push(line);
  }
  if (open !== null) throw new Error(`${file}:${open.line}: a block without an end`);
  return blocks;
}

/** The calls in lines of a shell, each in its words: continued lines joined, comments and redirections left out. */
export function callsOf(text: string): string[][] {
  const calls: string[][] = [];
  for (const line of text.replaceAll('\\\n', ' ').split('\n')) {
    let words: string[] = [];
    const end = (): void => {
      if (words.length > 0) calls.push(words);
      words = [];
    };
    const token =
      /\s+|(#.*)|(&&|\|\||[;|])|([<>]+&?\s*(?:\([^)]*\)|\S+))|((?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|<[a-z][\w -]*>|[^\s'"\\;|&<>])+)/y;
    for (let match: RegExpExecArray | null; token.lastIndex < line.length && (match = token.exec(line)) !== null;) {
      const [, comment, separator, , word] = match;
      if (comment !== undefined) break;
      if (separator !== undefined) end();
      else if (word !== undefined) words.push(word.replaceAll(/'([^']*)'|"((?:[^"\\]|\\.)*)"/g, '$1$2'));
    }
    end();
  }
  return calls;
}
