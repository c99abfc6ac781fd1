// Adds the library @netlify/build-info to our detection (builder/frameworks/detect.ts): it knows more frameworks, and
// is only used if our rules find too little. The library runs in a confined process (child.ts), never in this process.
// Called by plan.ts.
import type { Detection } from '../frameworks/detect.ts';

/** A framework in the library's terms. */
export interface LibraryFramework {
  readonly name: string;
  readonly build: string | null;
  readonly out: string | null;
}

/** Runs the library on the project's folder. */
export type AskLibrary = (root: string) => Promise<readonly LibraryFramework[]>;

/**
 * Completes a detection with the library's result.
 *
 * @param ask null if a build command is already known.
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
