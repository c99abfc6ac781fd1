// What a tidy rule finds in a file, and how it is reported.

/** Something a rule objects to. */
export interface Finding {
  readonly file: string;
  /** From 1; 0 when it concerns the whole file. */
  readonly line: number;
  /** What is wrong and what to do instead. */
  readonly message: string;
}

/** The line, from 1, of an offset. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** One line of a report. */
export function formatFinding({ file, line, message }: Finding): string {
  return `${file}${line === 0 ? '' : `:${line}`} ${message}`;
}
