// The files of a project from a map, for tests of the detection of frameworks.
import type { ProjectFiles } from '#builder/frameworks/project-files.ts';

/** @param map texts by path. */
export function filesOf(map: Readonly<Record<string, string>>): ProjectFiles {
  return {
    names(folder) {
      const prefix = folder === '.' ? '' : `${folder}/`;
      const below = Object.keys(map).filter((file) => file.startsWith(prefix));
      return [...new Set(below.map((file) => file.slice(prefix.length).split('/')[0]!))];
    },
    text: (file) => map[file] ?? null,
    manifestsAbove: () => [],
  };
}
