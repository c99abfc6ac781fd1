// `npm run check -- --sentences [--seed=TEXT] [--count=N]`: draws sentences from documents, comments and interface
// texts, which somebody who does not know the project then judges. The seed is the commit by default; the same seed and
// the same files draw the same sentences. Not packed.
import { createHash } from 'node:crypto';
import { describeCommit } from './tools/machine.ts';
import { root } from './tools/processes.ts';
import { isOwnModule, readSources, type Sources } from './tools/sources.ts';

/** A sentence and its location. */
interface Sentence {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

const COUNT = 60;
/** Shorter sentences are labels. */
const WORDS_MIN = 4;
/** The kinds of texts; a third of the sample comes from each. */
const KINDS = ['docs', 'comments', 'interface'] as const;
type Kind = (typeof KINDS)[number];

export function run(words: readonly string[]): number {
  const option = (name: string): string | undefined =>
    words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
  const seed = option('seed') ?? describeCommit(root).split(' ')[0]!;
  const count = Number(option('count') ?? COUNT);
  const drawn = drawSentences(readSources(root), seed, count);
  for (const [at, { file, line, text }] of drawn.entries())
    process.stdout.write(`${at + 1}. ${file}:${line}\n   ${text}\n`);
  process.stdout.write(`${drawn.length} sentences, seed ${seed}\n`);
  return 0;
}

/**
 * Draws sentences by a seed, as many from documents as from comments and from texts of interfaces.
 *
 * @example
 * drawSentences({ 'README.md': 'Each worker has its own isolate.' }, 'seed', 3)[0].text; // that sentence
 */
export function drawSentences(sources: Sources, seed: string, count: number): readonly Sentence[] {
  const rank = ({ file, text }: Sentence): string =>
    createHash('sha256').update(`${seed} ${file} ${text}`).digest('hex');
  return KINDS.flatMap((kind) =>
    sentencesOf(sources, kind)
      .map((sentence) => ({ sentence, rank: rank(sentence) }))
      .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
      .slice(0, Math.ceil(count / KINDS.length))
      .map(({ sentence }) => sentence),
  ).slice(0, count);
}

function sentencesOf(sources: Sources, kind: Kind): readonly Sentence[] {
  return Object.entries(sources).flatMap(([file, text]) => {
    if (kind === 'docs') return file.endsWith('.md') && !file.startsWith('test/') ? proseOf(file, text) : [];
    if (!isOwnModule(file) || /^(?:test|bench|cli\/tasks)\//.test(file)) return [];
    return kind === 'comments' ? commentsOf(file, text) : textsOf(file, text);
  });
}

/** Paragraphs, list items and cells of tables. */
function proseOf(file: string, text: string): readonly Sentence[] {
  const found: Sentence[] = [];
  let block = { line: 0, text: '' };
  let isCode = false;
  const end = (): void => {
    found.push(...split(file, block.line, block.text));
    block = { line: 0, text: '' };
  };
  for (const [at, line] of text.split('\n').entries()) {
    if (/^\s*(?:```|~~~)/.test(line)) {
      end();
      isCode = !isCode;
    } else if (isCode || /^\s*$|^#/.test(line)) end();
    else if (line.startsWith('|')) {
      end();
      for (const cell of line.split(/(?<!\\)\|/)) found.push(...split(file, at + 1, cell));
    } else {
      if (/^\s*(?:[-*]|\d+\.)\s/.test(line)) end();
      const part = line.replace(/^\s*(?:[-*>]|\d+\.)\s+/, '').trim();
      block = { line: block.text === '' ? at + 1 : block.line, text: `${block.text} ${part}` };
    }
  }
  end();
  return found;
}

/**
 * Comments of modules: neighbouring lines of `//` and whole doc comments, without examples. Tags such as `@returns`
 * stay, because their sentences cannot be understood without them.
 */
function commentsOf(file: string, text: string): readonly Sentence[] {
  const comments = text.matchAll(/(?:^[ \t]*\/\/[^\n]*\n)+|^[ \t]*\/\*\*[\s\S]*?\*\//gm);
  return Array.from(comments, ({ index, 0: comment }) => {
    const words = comment
      .replaceAll(/^[ \t]*(?:\/\/|\/\*\*|\*\/|\*)?[ \t]?/gm, '')
      .replaceAll(/\*\/\s*$/g, '')
      .replaceAll(/@example[\s\S]*?(?=\n@|$)/g, '')
      .replaceAll(/(?=@(?:param|returns|throws|typeParam)\b)/g, '\n\n')
      .replaceAll(/@see\b/g, '\n\n');
    return words.split('\n\n').flatMap((part) => split(file, lineAt(text, index), part));
  }).flat();
}

/** Texts in quotes that read as sentences, and text between the tags of the dashboard. */
function textsOf(file: string, text: string): readonly Sentence[] {
  const code = text.replaceAll(/^[ \t]*(?:\/\/|\*|\/\*).*$/gm, (line) => ' '.repeat(line.length));
  const quoted = code.matchAll(/(['"`])((?:(?!\1)[^\\\n]|\\.)+)\1/g);
  const tagged = file.endsWith('.tsx') ? code.matchAll(/>()([^<>{}]+)</g) : [];
  return [...quoted, ...tagged].flatMap(({ index, 2: words }) =>
    isProse(words!) ? split(file, lineAt(text, index), words!) : [],
  );
}

/** Whether a string literal is for users: not SQL, code, a path or a pattern. */
function isProse(text: string): boolean {
  return (
    /^[A-Z`$][^\n]*[a-z] [a-z]+ [a-z]/.test(text) &&
    !/[{};=]\s|=>|^(?:SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER)\b/.test(text)
  );
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}

function split(file: string, line: number, block: string): readonly Sentence[] {
  const flat = block
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return flat
    .split(/(?<=[.!?]) (?=[A-Z`"'])/)
    .filter((text) => text.split(' ').filter((word) => /^[A-Za-z]/.test(word)).length >= WORDS_MIN)
    .map((text) => ({ file, line, text }));
}
