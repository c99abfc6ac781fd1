// Checks the tsconfig.json files that the bundler reads for paths and JSX: extending or referencing a file outside the
// project is refused. Called by bundle.ts.
import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { tsconfigLinks } from '#core/config/tsconfig.ts';
import { codeFrame } from '#core/code-frame.ts';
import { BuildError, projectPath } from '../project/build-error.ts';
import { isInside, realPath, type Containment } from '../project/containment.ts';

/** Maximum files in one chain. */
const FILES_MAX = 50;

/**
 * Follows the tsconfig.json of the entry's folder and its parents in the project to all files referenced by path.
 *
 * @throws {BuildError} `outside` with the line of the reference.
 */
export function checkTsconfigs(containment: Containment, entry: string): void {
  const waiting: string[] = [];
  for (let folder = dirname(entry); isInside(containment.root, folder); folder = dirname(folder))
    waiting.push(join(folder, 'tsconfig.json'));
  const seen = new Set<string>();
  for (let file = waiting.pop(); file !== undefined && seen.size < FILES_MAX; file = waiting.pop()) {
    const real = realPath(file);
    if (real === null || seen.has(real)) continue;
    seen.add(real);
    if (!containment.holds(real))
      throw new BuildError('outside', `${projectPath(containment.root, file)} is a link to a path outside the project`);
    const text = readFileSync(real, 'utf8');
    for (const { path, line, column } of tsconfigLinks(text)) {
      const target = fileOf(resolve(dirname(real), path));
      if (target === null) continue;
      if (containment.holds(target)) waiting.push(target);
      else {
        const place = { file: projectPath(containment.root, real), line, column };
        const message = `"${path}" is outside the project and is not read. Move the file into it, or make the repository a workspace`;
        throw new BuildError('outside', message, { place, frame: codeFrame(text, line, column) });
      }
    }
  }
}

/** Candidates for `extends` and `references`, which may omit the extension or the file name. */
function fileOf(path: string): string | null {
  const files = [path, `${path}.json`, join(path, 'tsconfig.json')];
  const found = files.find((file) => statSync(file, { throwIfNoEntry: false })?.isDirectory() === false);
  return found === undefined ? null : realPath(found);
}
