// Rules about documents and comments: every path, link and command in them leads somewhere. Functions over texts; what
// exists comes in. tidy.test.ts hands it the checkout. No I/O.
import path from 'node:path';
import { suiteOf, type Suite } from '#test/suites.ts';
import { isOwnModule, type Sources } from '#cli/tasks/tools/sources.ts';
import { lineAt, type Finding } from './findings.ts';

/** Whether a path of the checkout exists; `*` stands for any name. */
type Exists = (file: string) => boolean;

/** Documents for people who change the code: every file name in them is one of ours. */
const developerDocument =
  /^(?:ARCHITECTURE|CONTRIBUTING|README|SECURITY)\.md$|^docs\/(?:decisions\/|glossary|add-a-)|^[a-z]+\/README\.md$|^(?!packages|examples|test)[a-z]+\/.*README\.md$/;
/** Folders whose names no project of a user has. */
const ownFolder =
  /^(?:core|packages|artifacts|runtime|gateway|sandbox|postgres|builder|control|cli|dashboard|docs|examples|bench|test)\/(?!\*)/;
const codeFile = /^(?:[\w.*-]+\/)*[\w.*-]+\.(?:ts|mts|mjs|cc|h|sh)$/;
/** Files of a user's project that documents show. */
const userFile = /^(?:env\.d\.ts|(?:src|worker|public)\/[\w./-]+|index\.ts|(?:vite|drizzle)\.config\.ts)$/;

/** Every path, link and command of a document that leads nowhere. */
export function documentFindings(sources: Sources, exists: Exists): Finding[] {
  const findings: Finding[] = [];
  for (const [file, text] of Object.entries(sources)) {
    if (!file.endsWith('.md') || /^(?:test|examples|node_modules)\//.test(file)) continue;
    const prose = withoutBlocks(text);
    const add = (index: number, message: string): void =>
      void findings.push({ file, line: lineAt(text, index), message });
    for (const { index, target } of linksOf(prose)) {
      const objection = linkObjection(file, target, sources, exists);
      if (objection !== null) add(index, objection);
    }
    for (const { 0: whole, 1: quoted, index } of prose.matchAll(/`([^`\n]+)`/g)) {
      const inside = (quoted as string).trim();
      const isPath = isOwnPath(file, inside) || isShortPath(file, inside, exists);
      if (isPath && !leadsSomewhere(file, inside, exists)) add(index, `names ${whole}, which does not exist`);
    }
    for (const { 1: name, 2: place, index } of prose.matchAll(/`(\w+)` in\s+`([\w./-]+\.ts)`/g)) {
      const there = sources[place as string];
      if (there !== undefined && !there.includes(name as string))
        add(index, `looks for ${name} in ${place}: it is not there`);
    }
    for (const { 1: row, index } of prose.matchAll(/(?<=^|\n\n)(\|.*)(?!\n\|[\s:|-]+\|(?:\n|$))(?=\n|$)/g))
      add(index, `has a row of no table: ${row}`);
    for (const { 0: command, index } of text.matchAll(
      /npm (?:test|run [\w:]+)(?: -- [\w./ -]+|(?<=run bench) [\w -]+)?/g,
    )) {
      const objection = commandObjection(command.trim(), sources, exists);
      if (objection !== null) add(index, objection);
    }
  }
  return findings;
}

/** A document that the repository does not hold, or a number where the name of a file belongs. */
const elsewhere = /\bspec(?:ification)?,? (?:part )?\d[\d.]*|\b(?:design|facts)\.md\b|\bARCHITECTURE(?:\.md)?,? \d+/g;
const ownFile =
  /(?<![\w./@-])(?:core|packages|artifacts|runtime|gateway|sandbox|control|resources|operations|postgres|builder|cli|dashboard|web|docs|bench|test)\/[\w./-]*\.(?:ts|mjs|cc|h|sh|md|sql)\b/g;

/** A file by its name alone, as comments name their neighbours. */
const bareFile = /(?<![\w./@*<>-])[a-z][\w-]*\.(?:ts|mjs)\b/g;

/** Every comment of our code that names a file which is not there. */
export function commentFindings(sources: Sources, exists: Exists): Finding[] {
  const findings: Finding[] = [];
  const names = new Set(Object.keys(sources).map((file) => path.posix.basename(file)));
  for (const [file, text] of Object.entries(sources)) {
    if (!isOwnModule(file) && !file.endsWith('.sql')) continue;
    // A migration stays as it was applied, whatever has moved since.
    if (file.startsWith('postgres/migrations/')) continue;
    for (const { 0: comment, index } of text.matchAll(/^[ \t]*(?:\/\/|\/\*|\*|--).*$/gm)) {
      const add = (message: string): void => void findings.push({ file, line: lineAt(text, index), message });
      for (const [named] of comment.matchAll(ownFile))
        if (!exists(named) && !exists(`runtime/engine/${named}`)) add(`names ${named}, which does not exist`);
      if (!/^(?:test|bench)\//.test(file))
        for (const [named] of comment.matchAll(bareFile))
          if (!names.has(named) && !userFile.test(named)) add(`names ${named}, which does not exist`);
      for (const [named] of comment.matchAll(elsewhere)) add(`names ${named}: name a page of docs/ instead`);
    }
  }
  return findings;
}

/** The text with its fenced blocks blank, so that places stay. */
function withoutBlocks(text: string): string {
  return text.replace(/^( *)(`{3,})[^\n]*\n[\s\S]*?^\1\2 *$/gm, (block) => block.replace(/[^\n]/g, ' '));
}

function linksOf(prose: string): { index: number; target: string }[] {
  return [...prose.matchAll(/\]\(([^()\s]+)\)/g)].map(({ 1: target, index }) => ({ index, target: target as string }));
}

function linkObjection(file: string, target: string, sources: Sources, exists: Exists): string | null {
  if (/^(?:https?:|mailto:)/.test(target)) return null;
  const [to = '', anchor] = target.split('#', 2);
  const linked = to === '' ? file : path.posix.join(path.posix.dirname(file), to).replace(/\/$/, '');
  if (!exists(linked)) return `links to ${target}, which does not exist`;
  const text = sources[linked];
  if (anchor === undefined || text === undefined) return null;
  return anchorsOf(text).has(anchor) ? null : `links to ${target}: ${linked} has no such heading`;
}

/** Names under which headings can be linked to, as GitHub makes them. */
function anchorsOf(text: string): Set<string> {
  const headings = [...withoutBlocks(text).matchAll(/^#{1,6} +(.+)$/gm)].map(([, heading]) => heading as string);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/** Whether a quoted text is meant as a path of the checkout. */
function isOwnPath(file: string, text: string): boolean {
  if (!/^[\w@.*/-]+$/.test(text) || text.startsWith('/') || /^@|\.\.\.$|node_modules/.test(text)) return false;
  if (!developerDocument.test(file)) return ownFolder.test(text) && /\.\w+$|\/$/.test(text) && !userFile.test(text);
  return (ownFolder.test(text) || codeFile.test(text) || text.startsWith('../')) && !userFile.test(text);
}

/** Whether it is a path below the document's folder, below the engine's, or beside that, without what they share. */
function isShortPath(file: string, text: string, exists: Exists): boolean {
  if (!developerDocument.test(file) || !/^[\w-]+\/[\w./-]*$/.test(text)) return false;
  const [first = ''] = text.split('/');
  const beside = path.posix.dirname(file);
  return [beside, 'runtime/engine', 'runtime'].some((base) => base !== '.' && exists(`${base}/${first}`));
}

/** From the root, from the document's folder, or from the engine's; the extension may be left out. */
function leadsSomewhere(file: string, text: string, exists: Exists): boolean {
  const beside = path.posix.dirname(file);
  const bases = text.startsWith('../') ? [beside] : ['', beside, 'runtime/engine', 'runtime'];
  return bases.some((base) => ['', '.ts'].some((end) => exists(path.posix.join(base, text.replace(/\/$/, '') + end))));
}

/** Whether a word behind `npm test --` picks something: of a suite, where the first word names one. */
function picksTests(word: string, suite: Suite | undefined, sources: Sources, exists: Exists): boolean {
  const picksFile = (folder: string): boolean =>
    Object.keys(sources).some((file) => file.startsWith(folder) && file.endsWith('.test.ts') && file.includes(word));
  if (suite === undefined) return picksFile('test/');
  if (suite.name === 'hostile' && exists(`test/hostile/attacks/*${word}*.ts`)) return true;
  // These have their own names for what they run.
  if (['wpt', 'frameworks', 'sandbox', 'native'].includes(suite.name)) return true;
  return suite.parts?.includes(word) ?? picksFile(suite.folder);
}

function commandObjection(command: string, sources: Sources, exists: Exists): string | null {
  const [, script = 'test', text = ''] = /^npm (?:run )?([\w:]+)(?: -- | )?(.*)$/.exec(command) ?? [];
  const { scripts = {} } = JSON.parse(sources['package.json'] ?? '{}') as { scripts?: Record<string, string> };
  if (scripts[script] === undefined && !['dev', 'build', 'types'].includes(script))
    return `names ${command}: there is no such script`;
  const words = text.split(' ').filter((part) => /^\w/.test(part));
  const suite = script === 'test' ? suiteOf(words[0] ?? '') : undefined;
  for (const word of suite === undefined ? words : words.slice(1)) {
    const isThere =
      script === 'bench'
        ? exists(`bench/*${word}*.bench.ts`)
        : script !== 'test' || picksTests(word, suite, sources, exists);
    if (!isThere) return `names ${command}: ${word} picks nothing`;
  }
  return null;
}
