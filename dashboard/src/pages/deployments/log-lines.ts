// Rows of a build log: steps with durations, and the lines of expanded steps. Pure.
import type { Coloured } from './colours.ts';

/** A line of the API. */
export interface LogLine {
  readonly seq: number;
  readonly at: string;
  readonly step: string;
  readonly level: string;
  readonly text: string;
  /** Coloured ranges of the text. */
  readonly colours?: readonly Coloured[];
}

/** Consecutive lines of a step. */
export interface LogStep {
  readonly key: string;
  readonly step: string;
  /** The label of the step, unique in the log. */
  readonly name: string;
  readonly lines: readonly LogLine[];
  readonly hasError: boolean;
  /** The time from the first line of this step to the first line of the next step; null while the step is running. */
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

/** Label of a step. */
export function stepName(step: string): string {
  return names[step] ?? step;
}

/** @param hasEnded whether the log is complete, so that the last step has a duration. */
export function stepsOf(lines: readonly LogLine[], hasEnded: boolean): LogStep[] {
  const groups: LogLine[][] = [];
  for (const line of lines) {
    const last = groups.at(-1);
    if (last?.[0]?.step === line.step) last.push(line);
    else groups.push([line]);
  }
  const used = new Map<string, number>();
  return groups.map((group, at) => {
    const { step } = group[0]!;
    // A release starts the worker, migrates the databases, and then goes live.
    const isStart =
      step === 'release' &&
      groups.findIndex(([first]) => first!.step === 'release') === at &&
      groups.slice(at).some(([first]) => first!.step === 'migrate');
    const name = isStart ? 'Start' : stepName(step);
    const count = (used.get(name) ?? 0) + 1;
    used.set(name, count);
    const next = groups[at + 1]?.[0] ?? (hasEnded ? group.at(-1) : undefined);
    return {
      key: `${group[0]!.seq}`,
      step,
      name: count === 1 ? name : `${name} (${count})`,
      lines: group,
      hasError: group.some(({ level }) => level === 'error'),
      ms: next === undefined ? null : Date.parse(next.at) - Date.parse(group[0]!.at),
    };
  });
}

/** @param isFolded tells whether a step is collapsed. */
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
 * The line with the cause of a failure: in the last failed step, the first line that is marked as an error or reads
 * like one. If this line only says that a command failed, the cause is in the output of the command, which is not
 * marked.
 */
export function failingLine(lines: readonly LogLine[]): LogLine | null {
  const errors = lines.filter(({ level, text }) => level === 'error' && text.trim() !== '');
  const step = errors.at(-1)?.step;
  const inStep = errors.filter((line) => line.step === step);
  const marked = causeIn(inStep) ?? inStep[0] ?? null;
  if (marked === null || !COMMAND_ENDED.test(marked.text)) return marked;
  return causeIn(lines.filter((line) => line.step === step && line.seq < marked.seq)) ?? marked;
}

/** The first line that reads like an error: preferably with a location in a file, or at the beginning. */
function causeIn(lines: readonly LogLine[]): LogLine | undefined {
  const found = lines.filter(({ text }) => ERROR_WORD.test(text));
  const hasPlace = ({ text }: LogLine): boolean => partsOf(text).some(({ file }) => file !== undefined);
  return found.find(hasPlace) ?? found.find(({ text }) => ERROR_START.test(text)) ?? found[0];
}
const ERROR_WORD = /(?:\b|[a-z])(?:error|failed|cannot|could not|not found|ERR!)/i;
/** Texts with which a command begins to report its failure. */
const ERROR_START = /^\W*(?:\w*Error\b|error\b|npm (?:ERR!|error))/i;
const COMMAND_ENDED = /ended with exit code \d+|was ended by /;

const LINES_BEFORE = 2;
const LINES_AFTER = 8;
/** A longer message is cut to the lines around the cause. */
const MESSAGE_LINES_MAX = 12;

/** Lines of a text or a log. */
type QuotedLine = Pick<LogLine, 'text' | 'colours'>;

/** Quoted lines; `marked` is the index of the line with the cause. */
export interface Quote {
  readonly lines: readonly QuotedLine[];
  readonly marked: number;
}

/**
 * Lines that show the cause of a failure: those of the message, or those of the log if the message lacks the cause.
 *
 * @returns null if the message is one line with the cause.
 */
export function quoteOf(
  message: readonly QuotedLine[],
  failing: LogLine | null,
  lines: readonly LogLine[],
): Quote | null {
  const cause = failing?.text.trim();
  const at = message.findIndex(({ text }) => text.trim() === cause);
  const isLong = message.length > MESSAGE_LINES_MAX;
  if (message.length > 1 && !isLong) return { lines: message, marked: Math.max(0, at) };
  if (isLong && at !== -1) return around(message, at);
  if (failing !== null && !message[0]!.text.includes(cause!)) {
    const inStep = lines.filter(({ step }) => step === failing.step);
    return around(inStep, inStep.indexOf(failing));
  }
  return isLong ? around(message, 0) : null;
}

/** A line with the lines before and after this line. */
function around(lines: readonly QuotedLine[], at: number): Quote {
  const from = Math.max(0, at - LINES_BEFORE);
  return { lines: lines.slice(from, at + LINES_AFTER + 1), marked: at - from };
}

/** A part of a text: plain, or a file name with a line number. */
interface TextPart {
  readonly text: string;
  readonly file?: string;
  readonly line?: number;
}

const PLACE =
  /((?:\.{0,2}\/)?(?:[\w@.-]+\/)*[\w@.-]+\.(?:[cm]?[jt]sx?|json|ya?ml|css|html|sql|vue|svelte|astro|toml))[:(](\d{1,6})(?:[:,]\d{1,5})?\)?/g;

/** @example partsOf('src/a.ts:3:1: no') // [{ text: 'src/a.ts:3:1', file: 'src/a.ts', line: 3 }, { text: ': no' }] */
function partsOf(text: string): TextPart[] {
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

/** A part of a line with one style. */
interface LinePart extends TextPart {
  readonly looks: readonly string[];
}

/** Splits a line at file names and colours. */
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
