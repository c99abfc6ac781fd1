// Rules about a file by itself: names, opening comment, size, left-overs, machine paths. Functions over sources; no
// I/O.
import path from 'node:path';
import { isOwnModule, type Sources } from '#cli/tasks/tools/sources.ts';
import { lineAt, type Finding } from './findings.ts';

const RULES = 'test/tidy/source-rules.ts';
const bannedWords = ['manager', 'helper', 'helpers', 'util', 'utils', 'common', 'misc', 'data', 'info'];
/** Names of web standards that hold a banned word. */
const standardNames = ['form-data'];
const LINES_MAX = 1000;
/** A task writes them: nobody reads them from top to bottom. */
const bundles = ['core/typebox/typebox.mjs'];
/** The modules that may lie in the folder of a process itself, rather than in a folder of it. */
const rootModules: Readonly<Record<string, readonly string[]>> = {
  runtime: [],
  'runtime/engine': ['main', 'handler'],
  'runtime/supervisor': ['main'],
  'runtime/broker': ['main', 'broker'],
  'runtime/databases': ['main'],
  'runtime/dev': ['dev'],
  control: ['main'],
  gateway: ['main', 'gateway'],
  sandbox: ['main'],
  cli: ['run', 'main'],
  builder: [],
};

/** Findings of every rule of this file. */
export function sourceFindings(sources: Sources): Finding[] {
  const findings = migrationFindings(Object.keys(sources));
  for (const [file, text] of Object.entries(sources)) {
    if (isOwnModule(file)) findings.push(...nameFindings(file), ...moduleFindings(file, text));
    if (file.endsWith('.test.ts')) findings.push(...testFindings(file, text));
    if (/^(?:runtime|sandbox)\//.test(file) && file.endsWith('.ts'))
      findings.push(...patternFindings(file, text, oldClosure, oldClosureMessage));
    if (file.endsWith('package-lock.json'))
      findings.push(
        ...patternFindings(
          file,
          text,
          /"resolved": "https?:[^"]*"/g,
          'names a package host: install with the .npmrc of the repository',
        ),
      );
    else if (!/^(?:test\/fixtures|test\/wpt|\.ci)\//.test(file))
      findings.push(...patternFindings(file, text, machinePath, 'names a path of one machine'));
  }
  return findings;
}

/** Exceptions of this file that no file needs any more. */
export function unusedExceptionFindings(sources: Sources): Finding[] {
  const files = Object.keys(sources).filter(isOwnModule);
  const stems = new Set(files.map((file) => path.posix.parse(file).name.replace(/\..*$/, '')));
  const findings: Finding[] = [];
  const add = (exception: string): void =>
    void findings.push({ file: RULES, line: 0, message: `excepts ${exception}, which does not exist: remove that` });
  for (const file of bundles) if (!files.includes(file)) add(file);
  for (const name of standardNames) if (!stems.has(name)) add(`the name ${name}`);
  for (const [folder, names] of Object.entries(rootModules))
    for (const name of names)
      if (!files.some((file) => file.startsWith(`${folder}/${name}.`))) add(`${folder}/${name}`);
  return findings;
}

/** Folders of a developer's or a build machine, and the names package hosts go by; `/tmp` alone is everybody's. */
const machinePath =
  /(?<![\w.])\/(?:home|Users|root|work)\/[\w.-]+|\/tmp\/n\d+\b|\bregistry\.(?:npmjs\.org|yarnpkg\.com)\b/g;

/**
 * What a request hands on: V8 takes it for a method, and makes it where only a full collection frees it and all that it
 * holds.
 */
const oldClosure = /(?<=^[ \t].*)\.on[A-Z]\w* = (?:async )?(?:\([^()]*\)|\w+)(?:: [^=\n]+)? =>/gm;
const oldClosureMessage =
  'makes a closure in the old generation, with all that it holds (docs/decisions/53-closures-of-a-request.md): give it a name first';

// Two branches that each add the next migration meet in no file, and the platform starts no more (postgres/migrate.ts).
function migrationFindings(files: readonly string[]): Finding[] {
  const names = files.filter((file) => /^postgres\/migrations\/[^/]+\.sql$/.test(file)).toSorted();
  return names.flatMap((file, at) => {
    const number = String(at + 1).padStart(6, '0');
    if (new RegExp(`/${number}_[a-z0-9_]+\\.sql$`).test(file)) return [];
    return [{ file, line: 0, message: `is not numbered 1, 2, 3...: call it ${number}_<words>.sql` }];
  });
}

function nameFindings(file: string): Finding[] {
  const name = file.split('/').at(-1)!;
  const stem = name.slice(0, name.indexOf('.'));
  const findings: Finding[] = [];
  const banned = standardNames.includes(stem) ? undefined : stem.split('-').find((word) => bannedWords.includes(word));
  if (banned !== undefined)
    findings.push({ file, line: 0, message: `has "${banned}" in its name: name the thing it makes or holds` });
  const allowed = rootModules[file.slice(0, -name.length - 1)];
  if (allowed?.includes(stem) === false)
    findings.push({
      file,
      line: 0,
      message: `lies at the root of a process: only ${listed(allowed)} may, put it into a folder`,
    });
  if (!/^_?[a-z0-9]+(?:-[a-z0-9]+)*$/.test(stem))
    findings.push({ file, line: 0, message: 'is not named in kebab-case' });
  return findings;
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'folders' : names.join(', ');
}

function moduleFindings(file: string, text: string): Finding[] {
  const findings: Finding[] = [];
  const body = text.startsWith('#!') ? text.slice(text.indexOf('\n') + 1) : text;
  // The titles of a test file say what it is.
  if (!file.endsWith('.test.ts') && !/^\s*(?:\/\/|\/\*)/.test(body))
    findings.push({ file, line: 1, message: 'does not open with a comment that says what it is' });
  const lines = text.split('\n').length;
  if (lines > LINES_MAX && !bundles.includes(file))
    findings.push({ file, line: 0, message: `has ${lines} lines (${LINES_MAX} allowed): split it by concept` });
  if (!file.startsWith('packages/') && !file.endsWith('.js'))
    findings.push(
      ...patternFindings(
        file,
        text,
        /^(?:export )?const [a-z]\w* = -?\d[\d_.]*;$/gm,
        'writes a fixed number in lower case',
      ),
    );
  findings.push(
    ...patternFindings(file, text, /^(?=.{121}) *(?:\/\/|\/?\*).*$/gm, 'has a comment beyond column 120'),
    ...patternFindings(
      file,
      text,
      /^ *\/\*\* (?:(?!\*\/).)* \*\/ [\w#'"[].*/gm,
      'has a doc comment and code on one line',
    ),
  );
  findings.push(
    ...patternFindings(
      file,
      text,
      /\/\/.*\b(?:TODO|FIXME)\b(?!.*#\d)/g,
      'leaves something to do without the number of its issue (#12)',
    ),
  );
  return findings;
}

function testFindings(file: string, text: string): Finding[] {
  const findings: Finding[] = [];
  // A suite of cases asserts for the files that hand an implementation to it.
  const beside = file.startsWith('test/contract/') && /from '\.\/[\w-]+\.ts'/.test(text);
  // So do the tests of another file, which run again over something else.
  const again = /^import '#test\/[\w/-]+\.test\.ts';$/m.test(text);
  const suite = beside || again || /from '#test\/(?:contract\/[\w-]+|setup\/[\w-]+-cases)\.ts'/.test(text);
  if (!suite && !/\bassert\b/.test(text)) findings.push({ file, line: 0, message: 'asserts nothing' });
  findings.push(
    ...patternFindings(file, text, /\b(?:test|it|describe)\.only\(|\bonly: true\b/g, 'runs only a part of its tests'),
  );
  return findings;
}

function patternFindings(file: string, text: string, pattern: RegExp, message: string): Finding[] {
  return [...text.matchAll(pattern)].map((match) => ({
    file,
    line: lineAt(text, match.index),
    message: `${message}: ${match[0].trim()}`,
  }));
}
