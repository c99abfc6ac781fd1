// What is wrong with a file that a person wrote, and where. Every parser of core reports these; the CLI and the builder
// print them. Pure.

/** A finding in a source file. `message` says what is wrong; where it is stands in fields of its own. */
export interface Problem {
  readonly message: string;
  readonly severity: 'error' | 'warning';
  /** As the caller named it; not resolved. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units; a byte order mark does not count. */
  readonly column: number;
  /** The place in the document, such as `assets.run_worker_first[0]`; empty for the whole of it. */
  readonly path: string;
  /** What to do about it. */
  readonly hint?: string;
}

/**
 * A problem as one line, `file:line:column: message`, with its hint on a second one.
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

/** Text from a file in quotes, short and on one line. */
export function quoted(text: string): string {
  return printable(JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text));
}

/** Text that is safe on a terminal: control characters and those that turn the direction of writing are escaped. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`,
  );
}
