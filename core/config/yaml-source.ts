// Text of a YAML file -> document with positions, or problems. Limits the cost of a hostile file: size, depth,
// aliases, number of problems. Called by the parsers of platform.yaml and platform-workspace.yaml. Never throws on
// bad input.
import { isAlias, parseDocument, type Document, type ErrorCode, type Node } from 'yaml';
import { fixedLimits } from '../limits.ts';
import { printable, type Problem } from '../problem.ts';

/** Maximum number of aliases that are resolved in one file, because each of them walks the whole document. */
const ALIASES_MAX = 100;
/** Maximum number of problems kept per file. */
const PROBLEMS_MAX = 100;
/** Number of syntax errors shown, because later errors mostly follow from the first. */
const SYNTAX_ERRORS_MAX = 3;

/** Errors of the library that need our own wording. */
const plainMessages: Partial<Record<ErrorCode, string>> = {
  RESOURCE_EXHAUSTION: 'Values are nested too deeply',
  MULTIPLE_DOCS: 'The file contains more than one YAML document',
};

/** Position of a problem: a node, an offset in the text, or undefined (the start of the file). */
type Place = Node | number | null | undefined;

/** A YAML file being read: its nodes, and the problems found so far. */
export interface YamlSource {
  /** The root node; null when the file is empty or broken. */
  readonly root: Node | null;
  /** Whether the text is a YAML document; if not, the problems contain the reason. */
  readonly readable: boolean;
  readonly problems: readonly Problem[];
  report(
    message: string,
    place: Place,
    path: string,
    more?: { severity?: Problem['severity']; hint?: string | undefined },
  ): void;
  /** The target of an alias; undefined (and reported) if there is none. */
  follow(node: Node, path: string): Node | undefined;
}

/** Parses YAML text. If it has syntax errors, they are in `problems`, and `root` is null. */
export function readYaml(text: string, file: string): YamlSource {
  const problems: Problem[] = [];
  const plain = text.startsWith('\ufeff') ? text.slice(1) : text;
  let document: Document.Parsed | null = null;
  let aliases = 0;

  function report(
    message: string,
    place: Place,
    path: string,
    more: { severity?: Problem['severity']; hint?: string | undefined } = {},
  ) {
    if (problems.length > PROBLEMS_MAX) return;
    const offset = typeof place === 'number' ? place : (place?.range?.[0] ?? 0);
    const where = { file, ...positionIn(plain, offset), path: printable(path) };
    const { severity = 'error', hint } = more;
    if (problems.length < PROBLEMS_MAX) {
      problems.push({
        message: printable(message),
        severity,
        ...where,
        ...(hint === undefined ? {} : { hint: printable(hint) }),
      });
    } else {
      problems.push({
        message: `More than ${PROBLEMS_MAX} problems; the others are left out`,
        severity: 'error',
        ...where,
      });
    }
  }

  function follow(node: Node, path: string): Node | undefined {
    let target: Node | undefined = node;
    if (!isAlias(node)) return node;
    if (++aliases > ALIASES_MAX) {
      report(`More than ${ALIASES_MAX} aliases`, node, path, { hint: 'Write the values without aliases.' });
      return undefined;
    }
    target = document ? node.resolve(document) : undefined;
    if (target === undefined) report(`Alias *${node.source.slice(0, 60)} has no anchor before it`, node, path);
    return target;
  }

  const bytes = Buffer.byteLength(text);
  if (bytes > fixedLimits.projectFileBytesMax) {
    report(`The file has ${bytes} bytes; at most ${fixedLimits.projectFileBytesMax} are allowed`, null, '');
    return { root: null, readable: false, problems, report, follow };
  }
  // Duplicate keys are found by schema-check.ts: the library compares every key with every other.
  document = parseDocument(plain, { schema: 'core', uniqueKeys: false, prettyErrors: false, logLevel: 'error' });
  for (const error of document.errors.slice(0, SYNTAX_ERRORS_MAX)) {
    const message = plainMessages[error.code] ?? `Invalid YAML: ${error.message}`;
    report(message, error.pos[0], '');
    if (error.code === 'RESOURCE_EXHAUSTION') break;
  }
  if (document.errors.length > 0) return { root: null, readable: false, problems, report, follow };
  for (const warning of document.warnings.slice(0, SYNTAX_ERRORS_MAX)) {
    report(`YAML: ${warning.message}`, warning.pos[0], '', { severity: 'warning' });
  }
  return { root: document.contents, readable: true, problems, report, follow };
}

/**
 * Line and column, both from 1. This is not the library's LineCounter, which misses line breaks inside broken quotes.
 */
function positionIn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: before.at(-1)!.length + 1 };
}
