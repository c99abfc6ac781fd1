// `:env` generates `.env.example`, docs/variables.md and containers/settings.yaml from the table of variables.ts;
// test/unit/docs/env-example.test.ts compares them. Not packed.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { removedVariables } from '#core/removed-variables.ts';
import { cpuLimitVariable, defaultLimits, limitRows, limitVariables } from '#core/limits.ts';
import { plans } from '#core/plans.ts';
import { secretVariables } from '#core/process/secret-variables.ts';
import { root } from './tools/processes.ts';
import { rowsOf, variableGroups, type Row, type Group } from './variables.ts';

const EXAMPLE_HEADER = `# Variables that installations set. Copy it to .env, or let \`platform secrets init\` do that: it makes the secrets below.
# What is commented out has the value shown. docs/variables.md and docs/limits.md have all variables, docs/self-hosting.md
# explains. Made by \`node cli/run.mjs :env\`. Never commit .env.
`;

/** Content of `.env.example`, with the common variables. */
export function exampleText(): string {
  const line = ([name, otherwise, what]: Row): string => `# ${what}\n#${name}=${otherwise}\n`;
  const section = (title: string, lines: readonly string[]): string => `\n## ${title}\n\n${lines.join('')}`;
  return [
    EXAMPLE_HEADER,
    section(
      'Secrets',
      secretVariables.map(({ name, what, with: needed }) =>
        needed === undefined ? `# ${what}\n${name}=\n` : `# ${what}; made where ${needed} is set\n#${name}=\n`,
      ),
    ),
    ...variableGroups.map(({ title, page, rows, limits = [] }) =>
      section(page === undefined ? title : `${title} (docs/${page}.md)`, [...rows, ...limits.map(limitRow)].map(line)),
    ),
  ].join('');
}

const VARIABLES_HEADER = `# Variables

Every variable of an installation, but those that are [limits](limits.md). \`platform secrets init\` makes a file \`.env\` with the secrets, and
with what most installations set. What each part reads: [the handler](handler.md), [operating](operating.md), [the builder](builder.md),
[databases](database.md), [self-hosting](self-hosting.md). This page is made by \`node cli/run.mjs :env\`.
`;

/** Content of docs/variables.md: all variables except limits. */
export function variablesText(): string {
  const secrets = secretVariables.map(({ name, what, with: needed }): Row => {
    const made = needed === undefined ? '' : `; made where ${needed} is set`;
    return [name, '', `${what}${made}`];
  });
  const section = ({ title, page }: Pick<Group, 'title' | 'page'>, rows: readonly Row[]): string =>
    `\n## ${title}\n\n${page === undefined ? '' : `Explained in [${page}](${page}.md).\n\n`}${table(rows)}`;
  return [
    VARIABLES_HEADER,
    section({ title: 'Secrets' }, secrets),
    ...variableGroups.filter((group) => group.rows.length > 0).map((group) => section(group, rowsOf(group))),
  ].join('');
}

/** A Markdown table with padded columns, as the formatter writes it. */
function table(rows: readonly Row[]): string {
  const linked = (what: string): string => what.replace(/docs\/([\w-]+)\.md(#[\w-]+)?/g, '[$1]($1.md$2)');
  const cells = [
    ['variable', 'default', 'says'],
    ...rows.map(([name, otherwise, what]) => [`\`${name}\``, otherwise && `\`${otherwise}\``, linked(what)]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...cells.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at]!)).join(' | ')} |\n`;
  return [cells[0]!, widths.map((width) => '-'.repeat(width)), ...cells.slice(1)].map(line).join('');
}

/** Text of containers/settings.yaml: what every part is given, and no secret. */
export function settingsText(): string {
  const names = [
    ...variableGroups
      .filter(({ isNotForAll }) => isNotForAll !== true)
      .flatMap((group) => rowsOf(group).map(([name]) => name)),
    ...limitVariables,
    // For the line that says so at the start.
    ...removedVariables,
  ];
  const lines = names.toSorted().map((name) => `      ${name}:\n`);
  return `# What every part of the platform is given of .env: settings and limits, no secret. The services of the compose files
# extend it. Made by \`node cli/run.mjs :env\`.
services:
  settings:
    environment:
${lines.join('')}`;
}

export async function run(): Promise<number> {
  writeFileSync(path.join(root, '.env.example'), exampleText());
  writeFileSync(path.join(root, 'docs/variables.md'), variablesText());
  writeFileSync(path.join(root, 'containers/settings.yaml'), settingsText());
  return 0;
}

/** A limit as a row. CPU budgets depend on the plan, others have one default. */
function limitRow(name: string): Row {
  const limit = limitRows.find(([variable]) => variable === name);
  if (limit !== undefined) return [name, String(limit[1]), limit[2]];
  const plan = plans.find((one) => cpuLimitVariable('http', one) === name)!;
  return [name, String(defaultLimits.cpu.http[plan]), 'CPU of one request in milliseconds; 0: no limit'];
}
