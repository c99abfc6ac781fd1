// The table of frameworks as a page of the documentation. No I/O.
import { availableParallelism } from 'node:os';
import type { Cell, Column, Outcome } from './row.ts';

const columns: readonly (readonly [Column, string])[] = [
  ['dev', 'dev ready'],
  ['edit', 'edit shown'],
  ['build', 'build'],
  ['deploy', 'deploy'],
  ['page', 'SSR page'],
  ['api', 'API route'],
  ['stream', 'streaming'],
  ['form', 'form post'],
  ['missing', '404'],
  ['assets', 'assets'],
  ['browser', 'runs in the browser'],
];
const REASON_CHARACTERS_MAX = 200;

/** The page. @param date of the run, as `2026-11-24`. */
export function tableOf(outcomes: readonly Outcome[], date: string): string {
  const reasons: string[] = [];
  const lines = outcomes.map(({ row, version, cells }) => {
    const shown = columns.map(([column]) => {
      const cell = cells[column] ?? null;
      if (cell === null) return 'not tried';
      if ('shown' in cell) return cell.shown;
      return `${'hole' in cell ? 'none' : 'fails'} [${numberOf(reasons, reasonOf(cell))}](#reasons)`;
    });
    return `| ${[`${row.title} ${version}`, row.kind, ...shown].join(' | ')} |`;
  });
  const heads = ['framework', 'kind', ...columns.map(([, title]) => title)];
  return `${[
    '# Table of frameworks',
    `Written by \`npm test -- frameworks\` on ${date}, on Node ${process.versions.node} and ${availableParallelism()} processors: each row is a small app of that framework (\`test/frameworks/apps/\`). The test installs it from its lockfile, runs it with \`platform dev\`, builds it with \`platform build\`, deploys it with \`platform deploy\` to a test platform and visits it there. [Frameworks](frameworks.md) explains how to use each framework.`,
    [
      `- **dev ready**: time from \`platform dev\` to the first response with the page. The columns up to 404 are also tested in dev.`,
      `- **edit shown**: time from saving a file to the first response with the change, the median of three.`,
      `- **build**, **deploy**: time of the whole command.`,
      `- **SSR page**: the page shows a value from the request's query.`,
      `- **streaming**: the first part of a response arrives before the second part exists.`,
      `- **form post**: a form works without scripts, as a browser sends it.`,
      `- **assets**: every file that the page references, and \`robots.txt\`. Static apps: also the rules in \`_headers\` and \`_redirects\`, and that a second page has a single URL without an extension.`,
      `- **runs in the browser**: a button on the page counts its clicks in Chromium, without errors in the console.`,
    ].join('\n'),
    [`| ${heads.join(' | ')} |`, `| ${heads.map(() => '---').join(' | ')} |`, ...lines].join('\n'),
    reasons.length === 0 ? '' : '## Reasons',
    reasons.map((reason, at) => `${at + 1}. ${reason}`).join('\n'),
  ]
    .filter((part) => part !== '')
    .join('\n\n')}\n`;
}

function reasonOf(cell: Exclude<Cell, { shown: string }>): string {
  if ('hole' in cell) return `${cell.hole[0]!.toUpperCase()}${cell.hole.slice(1)}.`;
  const text = cell.failed.replaceAll(/\s+/g, ' ').trim().slice(0, REASON_CHARACTERS_MAX).replaceAll('`', "'");
  return `It failed: \`${text}\``;
}

function numberOf(reasons: string[], reason: string): number {
  const at = reasons.indexOf(reason);
  return at === -1 ? reasons.push(reason) : at + 1;
}

/** Three rows, others every day, so that all have been run after as many days as it takes. */
export function rowsOfDay<Row>(rows: readonly Row[], day: number, many = 3): Row[] {
  const count = Math.min(many, rows.length);
  return Array.from({ length: count }, (_, at) => rows[(day * count + at) % rows.length]!);
}
