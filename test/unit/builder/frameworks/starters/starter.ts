// A project as the starter of a framework makes it, reduced to the files that tell something, and what is found out of
// it. The tables beside this file are read by detect.test.ts and by the test of `platform init --from`.
import type { Detection } from '#builder/frameworks/detect.ts';

/** A row of a table. What is left out is null, or not looked at where its comment says so. */
export interface Starter {
  readonly files: Readonly<Record<string, string>>;
  /** Id and version. */
  readonly framework?: string;
  readonly kind: Detection['kind'];
  readonly build?: string;
  readonly main?: string;
  /** The first folder that is served. */
  readonly out?: string;
  readonly start?: string;
  /** With the port 3001 on localhost. */
  readonly dev?: string;
  /** What `platform init --from` writes, without its comments. */
  readonly yaml: readonly string[];
}

/** Text of a package.json. */
export function manifest(
  packages: Readonly<Record<string, string>>,
  scripts: Readonly<Record<string, string>> = {},
  more: Readonly<Record<string, unknown>> = {},
): string {
  return JSON.stringify({ ...more, dependencies: packages, scripts });
}
