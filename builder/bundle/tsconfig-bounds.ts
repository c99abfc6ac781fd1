// tsconfig.json files that the bundler reads for paths and JSX: one that extends or refers to a file outside of the
// project is refused. Called by bundle.ts.
import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { tsconfigLinks } from '#core/config/tsconfig.ts';
import { codeFrame } from '#core/code-frame.ts';
import { BuildError, projectPath } from '../project/build-error.ts';
import { isInside, realPath, type Containment } from '../project/containment.ts';

/** Files of one chain that are looked at. */
const FILES_MAX = 50;

/**
 * Follows the tsconfig.json of the entry's folder, and of those around it in the project, to every file that they name
 * by path.
 *
 * @throws {BuildError} `outside` with the line that leads out.
 */
export function checkTsconfigs(bounds: Containment, entry: string): void {
  const waiting: string[] = [];
  for (let folder = dirname(entry); isInside(bounds.root, folder); folder = dirname(folder))
    waiting.push(join(folder, 'tsconfig.json'));
  const seen = new Set<string>();
  for (let file = waiting.pop(); file !== undefined && seen.size < FILES_MAX; file = waiting.pop()) {
    const real = realPath(file);
    if (real === null || seen.has(real)) continue;
    seen.add(real);
    if (!bounds.holds(real))
      throw new BuildError('outside', `${projectPath(bounds.root, file)} is a link that leads out of the project`);
    const text = readFileSync(real, 'utf8');
    for (const { path, line, column } of tsconfigLinks(text)) {
      const target = fileOf(resolve(dirname(real), path));
      if (target === null) continue;
      if (bounds.holds(target)) waiting.push(target);
      else {
        const place = { file: projectPath(bounds.root, real), line, column };
        const message = `"${path}" leads out of the project and is not read. Move the file into it, or make the repository a workspace`;
        throw new BuildError('outside', message, { place, frame: codeFrame(text, line, column) });
      }
    }
  }
}

/** What `extends` and `references` may leave out: the ending, or the name of the file. */
function fileOf(path: string): string | null {
  const files = [path, `${path}.json`, join(path, 'tsconfig.json')];
  const found = files.find((file) => statSync(file, { throwIfNoEntry: false })?.isDirectory() === false);
  return found === undefined ? null : realPath(found);
}
