// A problem in a file that a person wrote, with its position. Reported by all parsers of core, printed by the CLI and
// the builder. Pure.

/** A finding in a source file. `message` describes the problem; its position is in separate fields. */
export interface Problem {
  readonly message: string;
  readonly severity: 'error' | 'warning';
  /** The file name that the caller specified; not resolved. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units, without a byte order mark. */
  readonly column: number;
  /** The path in the document, such as `assets.run_worker_first[0]`; empty for the whole document. */
  readonly path: string;
  /** Instructions to fix the problem. */
  readonly hint?: string;
}

/**
 * A problem as one line, `file:line:column: message`, with its hint on a second line.
 *
 * @example formatProblem(problem) // "platform.yaml:3:6: Out path cannot contain '..'"
 */
export function formatProblem(problem: Problem): string {
  const { file, line, column, message, severity, hint } = problem;
  const text = `${file}:${line}:${column}: ${severity === 'warning' ? 'warning: ' : ''}${message}`;
  return hint === undefined ? text : `${text}\n  ${hint}`;
}

/** Whether any of the problems is an error. */
export function hasErrors(problems: readonly Problem[]): boolean {
  return problems.some((problem) => problem.severity === 'error');
}

/** Quotes text from a file, short and on one line. */
export function quoted(text: string): string {
  return printable(JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text));
}

/** Text that is safe on a terminal: escapes control characters and bidirectional overrides. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`,
  );
}
