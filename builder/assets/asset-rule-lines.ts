// Reads the lines of `_headers` and `_redirects`, without comments and empty lines, and collects errors with their
// location. Called by asset-headers.ts and asset-redirects.ts. Pure.
import { codeFrame } from '#core/code-frame.ts';
import { BuildError, joinBuildErrors } from '../project/build-error.ts';

/** A rules file. */
export interface RuleFile {
  readonly text: string;
  /** Path in the project, for error messages. */
  readonly file: string;
}

/**
 * Calls `read` with each non-empty line, trimmed; `fail` records an error and continues.
 *
 * @throws {BuildError} with all errors.
 */
export function readRuleLines(
  file: RuleFile,
  lineCharsMax: number,
  read: (line: string, fail: (message: string) => void) => void,
): void {
  const problems: BuildError[] = [];
  const lines = file.text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  for (const [index, whole] of lines.entries()) {
    const line = whole.trim();
    if (line === '' || line.startsWith('#')) continue;
    const fail = (message: string): void => {
      const place = { file: file.file, line: index + 1, column: whole.length - whole.trimStart().length + 1 };
      problems.push(
        new BuildError('assets', message, { place, frame: codeFrame(file.text, place.line, place.column) }),
      );
    };
    if (line.length > lineCharsMax) fail(`The line has ${line.length} characters; ${lineCharsMax} are allowed`);
    else read(line, fail);
  }
  if (problems.length > 0) throw joinBuildErrors(problems);
}
