// Prevents a bundle from reading files outside the allowed folders (containment.ts): every file is checked before the
// bundler opens it. Used by bundle.ts.
import { readFileSync } from 'node:fs';
import { rolldown, type InputOptions, type Plugin } from 'rolldown';
import { codeFrame } from '#core/code-frame.ts';
import { BuildError, joinBuildErrors, projectPath, sourceFile } from '../project/build-error.ts';
import type { Containment } from '../project/containment.ts';

/** Thrown while bundling; {@link outsideErrors} then finds the imports responsible. */
const OUTSIDE_MARK = 'platform: a file outside of the project';

/** An import of a file outside the allowed folders. */
interface OutsideImport {
  readonly specifier: string;
  readonly importer: string | undefined;
  readonly id: string;
}

/**
 * Refuses to load modules outside the allowed folders. The bundler's ids are real paths, so paths inside need no check.
 */
export function containmentPlugin(containment: Containment): Plugin {
  return {
    name: 'platform:containment',
    load: {
      filter: { id: { include: [/^[/\\]|^[A-Za-z]:/], exclude: containment.folders.map(insidePattern) } },
      handler(id) {
        if (!containment.holds(sourceFile(id))) throw new Error(OUTSIDE_MARK);
      },
    },
  };
}

/** Whether a bundling error comes from {@link containmentPlugin}. */
export function isOutside(error: unknown): boolean {
  const logs = (error as { errors?: readonly { message?: string }[] } | null)?.errors ?? [
    error as { message?: string } | null,
  ];
  return logs.some((log) => log?.message?.includes(OUTSIDE_MARK));
}

/**
 * All imports outside the allowed folders, with their locations. Runs the bundler again, so only use it after a
 * failure.
 */
export async function outsideErrors(options: InputOptions, containment: Containment): Promise<BuildError> {
  const found: OutsideImport[] = [];
  const plugin: Plugin = {
    name: 'platform:outside',
    async resolveId(specifier, importer, extra) {
      const resolved = await this.resolve(specifier, importer, { ...extra, skipSelf: true });
      if (resolved === null || resolved.external !== false || !/^[/\\]|^[A-Za-z]:/.test(resolved.id)) return resolved;
      if (containment.holds(sourceFile(resolved.id))) return resolved;
      found.push({ specifier, importer, id: resolved.id });
      return { id: resolved.id, external: true };
    },
  };
  try {
    await using build = await rolldown({ ...options, plugins: [plugin, options.plugins] });
    await build.generate({ format: 'esm', codeSplitting: false });
  } catch {
    // Other errors of the bundler are ignored here; the next build reports them.
  }
  return joinBuildErrors(found.map((one) => errorOf(one, containment)).sort(byPlace));
}

function errorOf({ specifier, importer, id }: OutsideImport, containment: Containment): BuildError {
  const target = projectPath(containment.root, id);
  const written = importer === undefined || importer.startsWith('\0') ? target : specifier;
  const message =
    `"${written}" is outside the project, at ${target}, and is not read. Move the file into the project, install it as a package, ` +
    `or make the repository a workspace`;
  const at =
    importer === undefined || importer.startsWith('\0') ? null : placeOf(specifier, sourceFile(importer), containment);
  return new BuildError('outside', message, at ?? {});
}

/** Finds a specifier in a file, with a code frame: its first occurrence in quotes. */
export function placeOf(
  specifier: string,
  importer: string,
  containment: Containment,
): { place: { file: string; line: number; column: number }; frame?: string } | null {
  if (!containment.holds(importer)) return null;
  const text = readFileSync(importer, 'utf8');
  const places = [`'${specifier}`, `"${specifier}`, `\`${specifier}`].map((quoted) => text.indexOf(quoted));
  const index = places.find((at) => at >= 0 && /['"`?]/.test(text[at + 1 + specifier.length] ?? ''));
  if (index === undefined) return { place: { file: projectPath(containment.root, importer), line: 1, column: 1 } };
  const before = text.slice(0, index).split('\n');
  const place = {
    file: projectPath(containment.root, importer),
    line: before.length,
    column: before.at(-1)!.length + 1,
  };
  return { place, frame: codeFrame(text, place.line, place.column) };
}

function byPlace(a: BuildError, b: BuildError): number {
  const key = ({ place }: BuildError): string => `${place?.file ?? ''}:${String(place?.line ?? 0).padStart(9, '0')}`;
  return key(a) < key(b) ? -1 : 1;
}

function insidePattern(folder: string): RegExp {
  return new RegExp(`^${folder.replace(/[^\w]/g, '\\$&')}[/\\\\]`);
}
