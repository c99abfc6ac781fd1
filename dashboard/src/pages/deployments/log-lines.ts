// A build log as rows to show: steps with their lengths, and the lines of those that are unfolded. Pure.
import type { Coloured } from './colours.ts';

/** A line as the API gives it. */
export interface LogLine {
  readonly seq: number;
  readonly at: string;
  readonly step: string;
  readonly level: string;
  readonly text: string;
  /** Parts of the text with a colour. */
  readonly colours?: readonly Coloured[];
}

/** Lines of one step that follow each other. */
export interface LogStep {
  readonly key: string;
  readonly step: string;
  readonly lines: readonly LogLine[];
  readonly hasError: boolean;
  /** From its first line to the first of the step behind it; null: it goes on. */
  readonly ms: number | null;
}

export type LogRow =
  | { readonly kind: 'step'; readonly step: LogStep; readonly isOpen: boolean }
  | { readonly kind: 'line'; readonly line: LogLine };

const names: Readonly<Record<string, string>> = {
  queue: 'Queue',
  clone: 'Clone',
  install: 'Install',
  build: 'Build',
  artifact: 'Bundle',
  upload: 'Upload',
  migrate: 'Migrate',
  release: 'Release',
};

/** What a step is called. */
export function stepName(step: string): string {
  return names[step] ?? step;
}

/** @param hasEnded nothing more comes: the last step has its length too. */
export function stepsOf(lines: readonly LogLine[], hasEnded: boolean): LogStep[] {
  const groups: LogLine[][] = [];
  for (const line of lines) {
    const last = groups.at(-1);
    if (last?.[0]?.step === line.step) last.push(line);
    else groups.push([line]);
  }
  return groups.map((group, at) => {
    const next = groups[at + 1]?.[0] ?? (hasEnded ? group.at(-1) : undefined);
    return {
      key: `${group[0]!.seq}`,
      step: group[0]!.step,
      lines: group,
      hasError: group.some(({ level }) => level === 'error'),
      ms: next === undefined ? null : Date.parse(next.at) - Date.parse(group[0]!.at),
    };
  });
}

/** @param folded whether a step shows no lines. */
export function rowsOf(steps: readonly LogStep[], isFolded: (step: LogStep) => boolean): LogRow[] {
  return steps.flatMap((step): LogRow[] => {
    const isOpen = !isFolded(step);
    return [
      { kind: 'step', step, isOpen },
      ...(isOpen ? step.lines.map((line): LogRow => ({ kind: 'line', line })) : []),
    ];
  });
}

/**
 * The line that says why it failed: the first that a command marked as an error, or that reads like one, of the step
 * that failed last.
 */
export function failingLine(lines: readonly LogLine[]): LogLine | null {
  const errors = lines.filter(({ level, text }) => level === 'error' && text.trim() !== '');
  const step = errors.at(-1)?.step;
  const inStep = errors.filter((line) => line.step === step);
  return inStep.find(({ text }) => ERROR_WORD.test(text)) ?? inStep[0] ?? null;
}
const ERROR_WORD = /\b(?:error|failed|cannot|could not|not found|ERR!)\b/i;

/** A text in parts: plain, or the name of a file with its line. */
export interface TextPart {
  readonly text: string;
  readonly file?: string;
  readonly line?: number;
}

const PLACE =
  /((?:\.{0,2}\/)?(?:[\w@.-]+\/)*[\w@.-]+\.(?:[cm]?[jt]sx?|json|ya?ml|css|html|sql|vue|svelte|astro|toml))[:(](\d{1,6})(?:[:,]\d{1,5})?\)?/g;

/** @example partsOf('src/a.ts:3:1: no') // [{ text: 'src/a.ts:3:1', file: 'src/a.ts', line: 3 }, { text: ': no' }] */
export function partsOf(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let from = 0;
  for (const match of text.matchAll(PLACE)) {
    if (match.index > from) parts.push({ text: text.slice(from, match.index) });
    parts.push({ text: match[0], file: match[1]!.replace(/^(?:\.\/)+/, ''), line: Number(match[2]) });
    from = match.index + match[0].length;
  }
  if (from < text.length) parts.push({ text: text.slice(from) });
  return parts;
}

/** A part of a line with one look. */
export interface LinePart extends TextPart {
  readonly looks: readonly string[];
}

/** The parts of a line: names of files, and within and around them what has a colour. */
export function lineParts({ text, colours = [] }: Pick<LogLine, 'text' | 'colours'>): LinePart[] {
  let at = 0;
  return partsOf(text).flatMap((part): LinePart[] => {
    const [from, to] = [at, at + part.text.length];
    at = to;
    const inside = colours.filter((one) => one.from < to && one.to > from);
    const cuts = inside.flatMap((one) => [Math.max(one.from, from), Math.min(one.to, to)]);
    const edges = [...new Set([from, ...cuts, to])].toSorted((one, other) => one - other);
    return edges.slice(0, -1).map((edge, index) => ({
      ...part,
      text: text.slice(edge, edges[index + 1]),
      looks: inside.find((one) => one.from <= edge && one.to > edge)?.looks ?? [],
    }));
  });
}
