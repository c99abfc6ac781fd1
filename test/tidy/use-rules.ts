// Rules about what nothing uses: an export without an importer, a file that no program and no test reaches. Functions
// over sources; no I/O.
import path from 'node:path';
import { exportUses, openModules, readModules } from '#cli/tasks/tools/import-graph.ts';
import { countNames } from '#cli/tasks/tools/imports.ts';
import { isOwnModule, type Sources } from '#cli/tasks/tools/sources.ts';
import { lineAt, type Finding } from './findings.ts';

const isTest = (file: string): boolean => /^(?:test|bench)\//.test(file);
/** Only developers run these, and tests take them apart. */
const isTool = (file: string): boolean => /^cli\/tasks\/|^runtime\/engine\/isolates\/native\//.test(file);
/** Test files and benches, and workers and pages that test/setup/ serves by their names. */
const isRun = (file: string): boolean =>
  /\.(?:test|bench)\.ts$|^test\/(?:(?:clients|objects)\/)?packages\/(?:workers|pages)\//.test(file);

/** Every export without a use. */
export function exportFindings(sources: Sources): Finding[] {
  const findings: Finding[] = [];
  for (const { file, name, importers } of exportUses(readModules(sources), openModules(sources))) {
    const text = sources[file]!;
    const line = lineAt(
      text,
      Math.max(0, text.search(new RegExp(`^export .*\\b${name.replaceAll('$', '\\$')}\\b`, 'm'))),
    );
    const add = (message: string): void => void findings.push({ file, line, message });
    if (importers.length === 0) add(`exports ${name}, which no other file imports: remove it, or the word export`);
    else if (!isTest(file) && !isTool(file) && importers.every(isTest) && countNames(file, text).get(name) === 1)
      add(`exports ${name}, which only tests use: remove it, or move it to test/setup/`);
  }
  return findings;
}

/**
 * Programs start at what a manifest, a script or a page names; tests and benches at their own files. A module leads to
 * those that it imports, or names in a text.
 *
 * @returns a finding for each module that nothing reaches.
 */
export function fileFindings(sources: Sources): Finding[] {
  const modules = Object.keys(sources).filter((file) => isOwnModule(file) && !/\.d\.m?ts$/.test(file));
  const leads = leadsAmong(modules);
  const reachedFrom = (entries: Iterable<string>): ReadonlySet<string> => {
    const reached = new Set(entries);
    for (const file of reached) for (const to of leads(file, sources[file]!)) reached.add(to);
    return reached;
  };
  const isOpen = openModules(sources);
  const programs = reachedFrom([...entriesOf(sources, new Set(modules), leads), ...modules.filter(isOpen)]);
  const tests = reachedFrom(modules.filter(isRun));
  return modules.flatMap((file) => {
    if (programs.has(file) || (isTest(file) && tests.has(file))) return [];
    const message = tests.has(file)
      ? 'is reached from tests alone: remove it, or move it to test/'
      : 'is reached from no program and no test: remove it';
    return [{ file, line: 0, message }];
  });
}

/** The entries of programs: modules that manifests, scripts and pages name, and those that developers run by `node`. */
function entriesOf(sources: Sources, modules: ReadonlySet<string>, leads: Leads): string[] {
  return Object.entries(sources).flatMap(([file, text]) => {
    if (modules.has(file) || file.endsWith('.md'))
      return [...text.matchAll(/(?<=\bnode )[\w./-]+\.m?[jt]s\b/g)].flatMap(([name]) =>
        modules.has(name) ? [name] : [],
      );
    return /\.(?:json|sh|html|ya?ml)$|^\.ci\//.test(file) && !file.startsWith('test/') ? [...leads(file, text)] : [];
  });
}

/** The modules that a text leads to. */
type Leads = (from: string, text: string) => Iterable<string>;

/** A path, or its beginning before a computed name. */
const PATH = /(?:\.{1,2}\/|#)?[\w@.-]+(?:\/[\w@.-]+)*(?:\/(?=\$\{))?/g;
const COMMENT_LINE = /^\s*(?:\/\/|\/?\*).*$/gm;
/** A name of a module or a folder beside this one. */
const NEIGHBOUR = /import\.meta\.dirname, ['`]([\w./-]+)|'([a-z]+(?:-[a-z0-9]+)+)'/g;
const ENDINGS = ['', '.ts', '.tsx', '.mjs', '.js', '/main.ts', '/index.ts'];

function leadsAmong(modules: readonly string[]): Leads {
  const known = new Set(modules);
  const byName = Map.groupBy(modules, (file) => path.posix.basename(file));
  const byFolder = Map.groupBy(modules, (file) => path.posix.dirname(file));
  return (from, text) => {
    const found = new Set<string>();
    const beside = path.posix.dirname(from);
    const code = text.replace(COMMENT_LINE, '');
    const addFolder = (folder: string): void => {
      for (const file of byFolder.get(folder) ?? []) found.add(file);
    };
    for (const [, joined, quoted] of code.matchAll(NEIGHBOUR)) {
      const place = path.posix.join(beside, joined ?? quoted!);
      if (joined !== undefined) addFolder(place);
      for (const end of ENDINGS) if (known.has(place + end)) found.add(place + end);
    }
    for (const word of new Set(code.match(PATH)?.filter((each) => /[/.]/.test(each)))) {
      const places = word.startsWith('#') ? [word.slice(1)] : [path.posix.join(beside, word), word];
      if (known.has(from) && (word.endsWith('/') || /^\.{1,2}\/\w/.test(word)))
        for (const place of places) addFolder(place.replace(/\/$/, ''));
      const module = places.flatMap((place) => ENDINGS.map((end) => place + end)).find((file) => known.has(file));
      if (module !== undefined) found.add(module);
      else
        for (const file of byName.get(path.posix.basename(word)) ?? [])
          if (`/${file}`.endsWith(`/${word}`) || word.endsWith(`/${file}`)) found.add(file);
    }
    return found;
  };
}
