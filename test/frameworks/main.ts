// `npm test -- frameworks`: runs the rows of the table one after the other, on one platform, and writes
// docs/frameworks-table.md when all of them have been run. Called by cli/tasks/suites/frameworks.ts.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { refuses } from '#cli/tasks/suites/words.ts';
import { root, runProgram } from '#cli/tasks/tools/processes.ts';
import { startWholePlatform } from '#test/setup/whole-platform.ts';
import type { Outcome } from './row.ts';
import { rows } from './rows.ts';
import { runRow } from './run-row.ts';
import { rowsOfDay, tableOf } from './table.ts';

const DAY_MS = 86_400_000;
const page = path.join(root, 'docs/frameworks-table.md');

process.exitCode = await runRows(process.argv.slice(2));

/**
 * Words are parts of names of apps; `--today` means three rows, others every day.
 *
 * @returns the exit code: 1 where something failed.
 */
async function runRows(words: readonly string[]): Promise<number> {
  const names = words.filter((word) => !word.startsWith('--'));
  const chosen = words.includes('--today')
    ? rowsOfDay(rows, Math.floor(Date.now() / DAY_MS))
    : rows.filter(({ app }) => names.length === 0 || names.some((name) => app.includes(name)));
  const apps = rows.map(({ app }) => app);
  const picks = (word: string): boolean => apps.some((app) => app.includes(word));
  if (refuses('npm test -- frameworks', names, picks, ['rows', ...apps])) return 2;
  process.stdout.write(`Rows: ${chosen.map(({ app }) => app).join(', ')}\n`);
  const platform = await startWholePlatform({ HANDLER_PROCESSES: '1', AI_PROVIDER_MOCK_KIND: 'mock' });
  const outcomes: Outcome[] = [];
  try {
    for (const row of chosen) {
      process.stdout.write(`${row.title}\n`);
      outcomes.push(await runRow(row, platform, (line) => process.stdout.write(`${line}\n`)));
    }
  } finally {
    await platform.close();
  }
  const text = tableOf(outcomes, new Date().toISOString().slice(0, 10));
  if (chosen.length === rows.length) await writePage(page, text);
  else process.stdout.write(`\n${text}`);
  const failed = outcomes.filter(({ cells }) => Object.values(cells).some((cell) => 'failed' in cell));
  if (failed.length > 0) process.stdout.write(`Failed: ${failed.map(({ row }) => row.app).join(', ')}\n`);
  return failed.length === 0 ? 0 : 1;
}

async function writePage(file: string, text: string): Promise<void> {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  const formatted = await runProgram(path.join(root, 'node_modules/.bin/oxfmt'), [file]);
  if (formatted.code !== 0) throw new Error(formatted.output);
  process.stdout.write(`Wrote ${path.relative(root, file)}\n`);
}
