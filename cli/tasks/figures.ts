// `npm run check -- --figures [folder]`: a table of the size, imports and wording of a checkout; `--list` lists the
// counted items. Only reads files, so it also works for older checkouts. Not packed.
import path from 'node:path';
import {
  arrowsBetween,
  arrowsOf,
  exportUses,
  importCycles,
  mutualFolders,
  openModules,
  readModules,
  type Modules,
} from './tools/import-graph.ts';
import { readShape } from './tools/imports.ts';
import { root } from './tools/processes.ts';
import { entryFolders, isLoose, isOwnModule, readSources, type Sources } from './tools/sources.ts';
import { readTimes, type Time } from './times.ts';

/** A line of the table, with the counted items. */
interface Figure {
  readonly name: string;
  readonly value: string | number;
  readonly list: readonly string[];
}

/** A banned word and its replacement. */
interface BannedWord {
  readonly pattern: RegExp;
  readonly instead: string;
}

const COLUMNS_MAX = 120;
const LONGEST_SHOWN = 10;
const isTest = (file: string): boolean => /^(?:test|bench)\//.test(file);
const isNative = (file: string): boolean => /\.(?:cc|h)$/.test(file);
/** A library in one file. */
const isBundled = (file: string): boolean => file === 'core/typebox/typebox.mjs';
const isSource = (file: string): boolean => isOwnModule(file) || isNative(file);

export function run(words: readonly string[]): number {
  const folder = path.resolve(words.find((word) => !word.startsWith('--')) ?? root);
  const banned = bannedWords(readSources(root)['docs/glossary.md'] ?? '');
  const figures = [...sourceFigures(readSources(folder), banned), ...timeFigures(readTimes(folder))];
  process.stdout.write(formatFigures(figures, words.includes('--list')));
  return 0;
}

/** All figures computed from the text of the files. */
export function sourceFigures(sources: Sources, banned: readonly BannedWord[]): Figure[] {
  const modules = readModules(sources);
  return [
    ...sizeFigures(sources),
    ...importFigures(modules),
    ...exportFigures(modules, openModules(sources)),
    ...shapeFigures(sources),
    ...textFigures(sources, banned),
  ];
}

function sizeFigures(sources: Sources): Figure[] {
  const files = Object.keys(sources).filter(isSource);
  const shipped = files.filter((file) => !isTest(file) && !isBundled(file));
  const lines = files.map((file) => ({ file, count: lineCount(sources[file]!) })).sort((a, b) => b.count - a.count);
  const loose = Object.keys(sources).filter(isLoose);
  const markdown = (place: RegExp): string[] =>
    Object.keys(sources).filter((file) => place.test(file) && file.endsWith('.md'));
  return [
    figure('source files', shipped),
    figure('source files of tests and bench', files.filter(isTest)),
    { name: 'lines of product', value: sum(shipped, (file) => lineCount(sources[file]!)), list: [] },
    { name: '  of them comments', value: sum(shipped, (file) => commentLines(sources[file]!)), list: [] },
    {
      name: 'words of docs',
      value: sum(markdown(/^docs\/(?!decisions\/)/), (file) => wordCount(sources[file]!)),
      list: [],
    },
    {
      name: 'words of decisions',
      value: sum(markdown(/^docs\/decisions\//), (file) => wordCount(sources[file]!)),
      list: [],
    },
    figure('rooms', [...new Set(shipped.map((file) => file.split('/')[0]!))]),
    figure('folders with sources', [...new Set(shipped.map((file) => path.posix.dirname(file)))]),
    figure('loose files', loose),
    ...entryFolders
      .map((folder) =>
        figure(
          `  in ${folder}/`,
          loose.filter((file) => path.posix.dirname(file) === folder),
        ),
      )
      .filter((one) => one.value !== 0),
    { name: 'longest source files, lines', value: lines[0]?.count ?? 0, list: [] },
    ...lines.slice(0, LONGEST_SHOWN).map(({ file, count }) => ({ name: `  ${file}`, value: count, list: [] })),
  ];
}

/** Functions and classes of the product, without the bundled library. */
function shapeFigures(sources: Sources): Figure[] {
  const errorClasses: string[] = [];
  const functions: { place: string; lines: number }[] = [];
  for (const [file, text] of Object.entries(sources)) {
    if (!isOwnModule(file) || isTest(file) || isBundled(file) || /\.d\.m?ts$/.test(file)) continue;
    const shape = readShape(file, text);
    errorClasses.push(...shape.errorClasses.map((name) => `${file} ${name}`));
    functions.push(...shape.functions.map(({ name, line, lines }) => ({ place: `${file}:${line} ${name}`, lines })));
  }
  const [longest, ...others] = functions.toSorted((a, b) => b.lines - a.lines).slice(0, LONGEST_SHOWN);
  return [
    figure('error classes', errorClasses),
    {
      name: 'longest function, lines',
      value: longest?.lines ?? 0,
      list: [longest, ...others].flatMap((one) => (one === undefined ? [] : [`${one.lines} ${one.place}`])),
    },
  ];
}

/**
 * The part of the program that a file belongs to: a part of the engine, another folder of runtime/ or packages/, or a
 * top-level folder. A file directly in runtime/ is a part of its own.
 */
function partOf(file: string): string {
  const folders = path.posix.dirname(file).split('/');
  if (folders.length === 1 && isLoose(file) && folders[0] === 'runtime') return file;
  const deep = file.startsWith('runtime/engine/') ? 3 : /^(?:runtime|packages)\//.test(file) ? 2 : 1;
  return folders.slice(0, deep).join('/');
}

function importFigures(modules: Modules): Figure[] {
  const arrows = arrowsOf(modules).filter(({ from }) => !isTest(from));
  const values = arrows.filter(({ kind }) => kind === 'static');
  const parts = new Set([...modules.keys()].filter((file) => !isTest(file)).map(partOf));
  return [
    figure('parts of the program', [...parts].sort()),
    figure('import arrows between parts', arrowsBetween(arrows, partOf)),
    figure('import arrows between folders', arrowsBetween(arrows, path.posix.dirname)),
    figure(
      '  of values',
      arrowsBetween(
        arrows.filter(({ kind }) => kind !== 'type'),
        path.posix.dirname,
      ),
    ),
    figure('pairs of folders that import each other', mutualFolders(arrows)),
    figure(
      'import cycles of values',
      importCycles(values).map((cycle) => cycle.join(' -> ')),
    ),
    figure(
      'import cycles with those of types',
      importCycles(arrows.filter(({ kind }) => kind !== 'dynamic')).map((cycle) => cycle.join(' -> ')),
    ),
  ];
}

function exportFigures(modules: Modules, isOpen: (file: string) => boolean): Figure[] {
  const uses = exportUses(modules, isOpen);
  const named = ({ file, name }: { file: string; name: string }): string => `${file} ${name}`;
  const shipped = uses.filter(({ file }) => !isTest(file));
  return [
    figure('exports never imported', shipped.filter(({ importers }) => importers.length === 0).map(named)),
    figure(
      'exports that tests and bench alone import',
      shipped.filter(({ importers }) => importers.length > 0 && importers.every(isTest)).map(named),
    ),
    figure(
      'exports of tests and bench never imported',
      uses.filter(({ file, importers }) => isTest(file) && importers.length === 0).map(named),
    ),
  ];
}

function textFigures(sources: Sources, banned: readonly BannedWord[]): Figure[] {
  const words: string[] = [];
  const longSources: string[] = [];
  const longTexts: string[] = [];
  for (const [file, text] of Object.entries(sources)) {
    const markdown = file.endsWith('.md');
    if (!markdown && !isSource(file)) continue;
    let fence: string | null = null;
    for (const [index, line] of text.split('\n').entries()) {
      const place = `${file}:${index + 1}`;
      // A fence without a language is program output.
      if (markdown && line.startsWith('```')) fence = fence === null ? line : null;
      const mayBeLong = markdown && (fence === '```' || /^\s*\||https?:\/\//.test(line));
      if (line.length > COLUMNS_MAX && !mayBeLong) (markdown ? longTexts : longSources).push(place);
      if (file === 'docs/glossary.md') continue;
      for (const { pattern } of banned) for (const [word] of line.matchAll(pattern)) words.push(`${place} ${word}`);
    }
  }
  return [
    { ...figure('banned words', words), value: banned.length === 0 ? 'no list' : words.length },
    figure(`lines over ${COLUMNS_MAX} columns in sources`, longSources),
    figure(`lines over ${COLUMNS_MAX} columns in Markdown`, longTexts),
  ];
}

/** Rows of the table "Words we do not use": a regular expression in backquotes, and the replacement. */
export function bannedWords(glossary: string): BannedWord[] {
  const section = /^#+ words we do not use$([\s\S]*?)(?=^#|(?![\s\S]))/im.exec(glossary)?.[1] ?? '';
  const rows = section.matchAll(/^\|\s*`((?:[^`|\\]|\\.)+)`\s*\|((?:[^|\\]|\\.)*)\|/gm);
  // A vertical bar inside a table cell is written `\|`.
  return Array.from(rows, ([, pattern, instead]) => ({
    pattern: new RegExp(pattern!.replaceAll('\\|', '|'), 'gi'),
    instead: instead!.trim(),
  }));
}

function timeFigures(times: Readonly<Record<string, Time>>): Figure[] {
  return ['npm test', '.ci/run', 'npm run check'].map((name) => {
    const time = times[name];
    const value =
      time === undefined ? 'not run here' : `${time.seconds} s (${time.date}, ${time.commit}, ${time.machine})`;
    return { name: `time of ${name}`, value, list: [] };
  });
}

function figure(name: string, list: readonly string[]): Figure {
  return { name, value: list.length, list };
}

function sum(files: readonly string[], of: (file: string) => number): number {
  return files.reduce((total, file) => total + of(file), 0);
}

function wordCount(text: string): number {
  return text.split(/\s+/).filter((word) => word !== '').length;
}

/** Comment-only lines. */
function commentLines(text: string): number {
  return text.split('\n').filter((line) => /^\s*(?:\/\/|\/?\*)/.test(line)).length;
}

function lineCount(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}

/** Formats the table; with `list`, including the counted items. */
export function formatFigures(figures: readonly Figure[], list: boolean): string {
  const width = Math.max(...figures.map(({ name }) => name.length));
  const table = figures.map(({ name, value }) => `${name.padEnd(width)}  ${String(value).padStart(6)}\n`);
  const lists = list
    ? figures
        .filter((one) => one.list.length > 0)
        .map((one) => `\n${one.name.trim()}\n${one.list.map((item) => `  ${item}\n`).join('')}`)
    : [];
  return [
    ...table,
    'Imports: static, dynamic and of types among our own modules, without those of test/ and bench/.\n',
    ...lists,
  ].join('');
}
