// A page of docs/ as what its reader does: files to write, lines to type, and what the terminal shows then. For
// test/e2e, which does the same.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '#cli/tasks/tools/processes.ts';
import { within, type Going, type Walk } from './walk.ts';

/** One block of the page. */
type Step =
  | { readonly kind: 'write'; readonly file: string; readonly text: string }
  | { readonly kind: 'change'; readonly file: string; readonly from: string; readonly to: string }
  | { readonly kind: 'type'; readonly lines: readonly string[] }
  | { readonly kind: 'read'; readonly lines: readonly string[]; readonly goesOn: boolean }
  | { readonly kind: 'stop' };

/** How a page is followed. */
interface Following {
  readonly walk: Walk;
  /** Ports of the page, and those that are meant here. */
  readonly ports: Readonly<Record<string, number>>;
  /** Lines that this reader has typed already. */
  readonly skip: readonly string[];
  /** What a reader does elsewhere, with a browser, once a line that goes on is ready. */
  readonly meanwhile: (line: string, going: Going) => Promise<void>;
}

/** What a line that goes on prints when it is ready. */
const ready: Readonly<Record<string, RegExp>> = { 'npm start': /Ctrl-C stops it/, 'npm run dev': /Dashboard http\S+/ };

/** Does what a page says, from its first block to its last. What goes on when it ends is left to the walk. */
export async function followPage(page: string, { walk, ports, skip, meanwhile }: Following): Promise<void> {
  const here = (text: string): string =>
    Object.entries(ports).reduce(
      (all, [from, to]) => all.replaceAll(new RegExp(`(?<=localhost:|port )${from}\\b`, 'g'), String(to)),
      text,
    );
  const going: Going[] = [];
  let shown = '';
  let typed: readonly string[] = [];
  for (const step of stepsOf(page)) {
    if (step.kind === 'write') walk.write(step.file, here(step.text));
    else if (step.kind === 'change') {
      const before = readFileSync(path.join(walk.folder, step.file), 'utf8');
      assert.equal(before.split(step.from).length, 2, `${page}: ${step.file} has these lines once:\n${step.from}`);
      walk.write(
        step.file,
        before.replace(step.from, () => step.to),
      );
    } else if (step.kind === 'stop') await going.pop()?.stop();
    else if (step.kind === 'read') {
      if (step.goesOn) {
        for (const line of step.lines) await going.at(-1)!.printed(patternOf(here(line)));
        continue;
      }
      const missing = (): string | undefined => missingIn(shown, step.lines.map(here));
      // Events end a moment after what caused them: a reader asks again.
      if (typed.at(-1) === 'npx platform logs')
        await within(async () => {
          if (missing() === undefined) return true;
          shown = await walk.type('npx platform logs');
          return null;
        }, 20_000);
      assert.equal(missing(), undefined, `${page} shows this, and the terminal\n${shown}`);
    } else {
      shown = '';
      typed = step.lines.filter((one) => !skip.includes(one)).map(here);
      for (const line of typed) {
        if (ready[line] === undefined) shown += `${await walk.type(line)}\n`;
        else {
          const begun = await walk.begin(withPort(line, ports), ready[line]);
          going.push(begun);
          shown += begun.output;
          await meanwhile(line, begun);
        }
      }
    }
  }
}

/** `platform dev` has its port from its project, or from a flag. */
function withPort(line: string, ports: Readonly<Record<string, number>>): string {
  return line === 'npm run dev' ? `${line} -- --port ${ports['3000']} --dashboard-port ${ports['4000']}` : line;
}

/** The first of some lines that a text does not have behind those before it. */
function missingIn(text: string, lines: readonly string[]): string | undefined {
  let rest = text;
  return lines.find((line) => {
    const found = patternOf(line).exec(rest);
    rest = found === null ? '' : rest.slice(found.index + found[0].length);
    return found === null;
  });
}

function escaped(text: string): string {
  // Columns are parted by spaces on a terminal, by tabs elsewhere.
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&').replace(/ {2,}/g, '\\s+');
}

/** Ids, times, sizes and other numbers differ from run to run; `...` stands for anything. */
function patternOf(line: string): RegExp {
  const differs =
    /\.\.\.|\bd[0-9a-z]{12}\b|\b[0-9a-f]{12}\b|\d+(?:\.\d+)?(?= (?:ms|kB|files|MB)\b)|\b\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d\.\d{3})?\b|(?<=process )\d+/g;
  let pattern = '';
  let end = 0;
  for (const found of line.matchAll(differs)) {
    pattern += `${escaped(line.slice(end, found.index))}${found[0] === '...' ? '.*' : '[\\w.: -]+?'}`;
    end = found.index + found[0].length;
  }
  return new RegExp(`${pattern}${escaped(line.slice(end))}\\s*$`, 'm');
}

function stepsOf(page: string): Step[] {
  const steps: Step[] = [];
  const text = readFileSync(path.join(root, page), 'utf8');
  // The last one that was named.
  let file = '';
  // Blocks, and paragraphs between them.
  for (const [, before, language, block] of text.matchAll(/([^]*?)(?:^```(\w+)\n([^]*?)^```$|$(?![^]))/gm)) {
    if (before!.includes('press Ctrl-C')) steps.push({ kind: 'stop' });
    if (language === undefined) break;
    const lines = block!.split('\n').filter((line) => line.trim() !== '');
    file = [...before!.matchAll(/`([\w./-]*\.(?:ts|js|html|css|sql|yaml|env))`/g)].at(-1)?.[1] ?? file;
    if (language === 'sh') steps.push({ kind: 'type', lines: lines.map((line) => line.replace(/\s+#.*$/, '').trim()) });
    else if (language === 'text')
      steps.push({ kind: 'read', lines, goesOn: before!.includes('terminal of `platform dev`') });
    else if (language === 'diff') {
      const of = (signs: string): string =>
        lines
          .filter((line) => signs.includes(line[0]!))
          .map((line) => `${line.slice(1)}\n`)
          .join('');
      steps.push({ kind: 'change', file, from: of(' -'), to: of(' +') });
    } else steps.push({ kind: 'write', file, text: block! });
  }
  return steps;
}
