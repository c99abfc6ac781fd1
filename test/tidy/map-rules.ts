// Rules about the map of the repository: the table of ARCHITECTURE.md agrees with import-rules.ts, and what a newcomer
// reads stays short. Functions over sources; no I/O.
import { isOwnModule, type Sources } from '#cli/tasks/tools/sources.ts';
import { lineAt, type Finding } from './findings.ts';
import { mayOf, mayTypesOf } from './import-findings.ts';
import { zones as allZones, type Zone } from './import-rules.ts';

const ARCHITECTURE = 'ARCHITECTURE.md';
const DECISIONS = 'docs/decisions/';
/** Words outside of blocks of code. */
const ARCHITECTURE_WORDS_MAX = 1500;
const DECISION_WORDS_MAX = 150;

/** What differs from the import rules in ARCHITECTURE.md, folders and decisions without a way there, and long texts. */
export function mapFindings(sources: Sources, zones: readonly Zone[] = allZones): Finding[] {
  return [
    ...architectureFindings(sources[ARCHITECTURE], zones),
    ...readmeFindings(sources),
    ...decisionFindings(sources),
  ];
}

function architectureFindings(text: string | undefined, zones: readonly Zone[]): Finding[] {
  if (text === undefined) return [];
  const findings = lengthFindings(ARCHITECTURE, text, ARCHITECTURE_WORDS_MAX);
  const rows = [...text.matchAll(/^\| (`[^|]+`) +\|[^|]*\| ([^|]*?) +\|$/gm)].map(
    ({ 1: names = '', 2: may = '', index }) => ({
      folders: [...names.matchAll(/`([^`]+\/)`/g)].map(([, folder]) => folder as string),
      may,
      line: lineAt(text, index),
    }),
  );
  const folders = rows.flatMap((row) => row.folders);
  const missing = zones.filter(({ prefix }) => folderOf(prefix, folders) === null);
  for (const { prefix } of missing) findings.push({ file: ARCHITECTURE, line: 0, message: `has no row for ${prefix}` });
  if (missing.length > 0) return findings;
  for (const { folders: own, may, line } of rows) {
    const expected = mayImport(own, folders, zones);
    if (own.length > 0 && may !== expected)
      findings.push({ file: ARCHITECTURE, line, message: `says "${may}" of ${own.join(', ')}: write "${expected}"` });
  }
  return findings;
}

/** The third cell of a row: what the zones of its folders may import, by the folders that have rows. */
function mayImport(own: readonly string[], folders: readonly string[], zones: readonly Zone[]): string {
  const ways = new Map<string, '' | ' (part)' | ' (types)'>();
  const add = (prefix: string, only: '' | ' (types)'): void => {
    const to = prefix === '' ? 'everything' : (folderOf(prefix, folders) ?? prefix);
    if (own.includes(to)) return;
    const way = only === '' && prefix.length > to.length ? ' (part)' : only;
    const before = ways.get(to);
    if (before === undefined || way === '' || before === ' (types)') ways.set(to, way);
  };
  for (const zone of zones) {
    const folder = folderOf(zone.prefix, folders);
    if (folder === null || !own.includes(folder)) continue;
    for (const to of mayOf(zone)) add(to, '');
    for (const to of mayTypesOf(zone)) add(to, ' (types)');
  }
  const order = ['everything', ...folders];
  const words = [...ways].toSorted(([a], [b]) => order.indexOf(a) - order.indexOf(b));
  return words.map(([to, way]) => to.replaceAll(/^runtime\/|\/$/g, '') + way).join(', ') || 'nothing of ours';
}

/** The longest folder that holds a path. */
function folderOf(file: string, folders: readonly string[]): string | null {
  const holding = folders.filter((folder) => file.startsWith(folder));
  return holding.toSorted((a, b) => b.length - a.length)[0] ?? null;
}

/** Each top-level folder with modules of ours has a README, and the README of the repository leads to it. */
function readmeFindings(sources: Sources): Finding[] {
  const map = sources['README.md'];
  if (map === undefined) return [];
  const modules = Object.keys(sources).filter((file) => isOwnModule(file) && file.includes('/'));
  return [...new Set(modules.map((file) => file.slice(0, file.indexOf('/'))))].flatMap((folder) => {
    const file = `${folder}/README.md`;
    if (sources[file] === undefined) return [{ file, line: 0, message: 'is missing: a table of what to change where' }];
    return map.includes(`](${file})`) ? [] : [{ file: 'README.md', line: 0, message: `does not lead to ${file}` }];
  });
}

function decisionFindings(sources: Sources): Finding[] {
  const list = sources[`${DECISIONS}README.md`] ?? '';
  return Object.entries(sources)
    .filter(([file]) => file.startsWith(DECISIONS) && /\/\d+-[^/]*\.md$/.test(file))
    .flatMap(([file, text]) => {
      const name = file.slice(DECISIONS.length);
      const title = `${Number.parseInt(name, 10)} | [${/^# \d+\. (.+)$/m.exec(text)?.[1]}](${name})`;
      const findings = lengthFindings(file, text, DECISION_WORDS_MAX);
      if (!list.replaceAll(/ +/g, ' ').includes(`| ${title} |`))
        findings.push({ file: `${DECISIONS}README.md`, line: 0, message: `has no row "${title}"` });
      return findings;
    });
}

function lengthFindings(file: string, text: string, wordsMax: number): Finding[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '');
  const words = prose.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
  return words <= wordsMax ? [] : [{ file, line: 0, message: `has ${words} words: at most ${wordsMax}` }];
}
