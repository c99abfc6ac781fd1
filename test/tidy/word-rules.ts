// Words that the project does not use: the table of docs/glossary.md over every source and document. Functions over
// sources; no I/O.
import { bannedWords } from '#cli/tasks/figures.ts';
import type { Sources } from '#cli/tasks/tools/sources.ts';
import { lineAt, type Finding } from './findings.ts';

const GLOSSARY = 'docs/glossary.md';

/** Every banned word in sources, tests and documents, with what to write instead. */
export function wordFindings(sources: Sources): Finding[] {
  const banned = bannedWords(sources[GLOSSARY] ?? '');
  const findings: Finding[] = [];
  for (const [file, text] of Object.entries(sources)) {
    if (
      file === GLOSSARY ||
      !/\.(?:ts|mts|mjs|js|md)$/.test(file) ||
      /^test\/(?:fixtures|wpt|unit\/tidy|unit\/cli\/tasks)\//.test(file)
    )
      continue;
    for (const { pattern, instead } of banned) {
      for (const { 0: word, index } of text.matchAll(pattern))
        findings.push({ file, line: lineAt(text, index), message: `says "${word}": write ${instead}` });
    }
  }
  return findings;
}
