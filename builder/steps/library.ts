// What the library @netlify/build-info adds to our own detection (builder/frameworks/detect.ts): it knows more
// frameworks, and is asked only where our rules say too little. It runs in a confined process (child.ts), never in this
// one. Called by plan.ts.
import type { Detection } from '../frameworks/detect.ts';

/** A framework as the library names it. */
export interface LibraryFramework {
  readonly name: string;
  readonly build: string | null;
  readonly out: string | null;
}

/** Asks the library about the project's folder. */
export type AskLibrary = (root: string) => Promise<readonly LibraryFramework[]>;

/**
 * A detection with what the library knows besides.
 *
 * @param ask null: a command is known already.
 */
export async function withLibrary(detected: Detection, root: string, ask: AskLibrary | null): Promise<Detection> {
  const knowsEnough =
    !detected.hasPackages ||
    detected.isSelfBuilt ||
    detected.kind === 'dynamic' ||
    detected.kind === 'ssr' ||
    (detected.framework !== null && detected.build !== null);
  if (ask === null || knowsEnough) return detected;
  const [found] = await ask(root);
  if (found === undefined) return detected;
  const isNew = detected.framework === null;
  const knowsBuild = detected.build !== null || found.build !== null;
  return {
    ...detected,
    ...(isNew && {
      framework: { id: found.name.toLowerCase(), name: found.name, version: null },
      because: 'by @netlify/build-info',
      out: knowsBuild && found.out !== null ? [found.out] : detected.out,
    }),
    ...(detected.build === null &&
      found.build !== null && { build: found.build, buildBecause: `what ${found.name} is built with` }),
  };
}
