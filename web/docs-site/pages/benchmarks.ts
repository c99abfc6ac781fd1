// Generates the benchmarks page from the results of `npm run bench <scenario> -- --save` (bench/results/): each figure
// with its command, date and machine.
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** @param bench folder `bench/` of the repository. */
export function benchmarksPage(bench: string): string {
  const read = (name: string): string => readFileSync(path.join(bench, name), 'utf8').trim();
  const results = globSync('results/*.md', { cwd: bench }).sort().map(read);
  const earlier = globSync('results/before/*.md', { cwd: bench }).sort().map(read);
  return `# Benchmarks

Every figure here was printed by the command above it, on the machine and the day that stand there; run it to have yours. Ratios travel,
absolute times do not: compare only rows of one run. \`bench/README.md\` says how each scenario measures.

${results.map(lowered).join('\n\n')}

## Earlier figures

Measured before results were kept by the command itself, and not since.

${earlier.map((text) => lowered(lowered(text.replace(/See\s+\[README\.md\]\([^)]*\)\./, '')))).join('\n\n')}
`;
}

/** Lowers every heading by one level. */
function lowered(text: string): string {
  return text.replace(/^(#{1,5}) /gm, '#$1 ');
}
