// What the page at a project's root says: the scripts it loads are for browsers, and some of them have to be built
// first. Pure. Called by detect.ts.
import path from 'node:path';
import type { ProjectView } from './project-view.ts';
import { conventionalOutputs } from './table.ts';

/** Scripts of the page are within its first part; a bound, for it is not ours. */
const PAGE_CHARS_MAX = 200_000;

/** Whether the page loads what no browser reads. */
export function pageNeedsBuild(project: ProjectView): boolean {
  return scriptsOf(project).some((source) => /\.(?:[cm]?tsx?|jsx|vue|svelte)$/.test(source));
}

/** Whether the page loads a file, given relative to the project. */
export function isLoadedByPage(project: ProjectView, file: string): boolean {
  return scriptsOf(project).some((source) => source.replace(/^(?:\.?\/)+/, '') === file);
}

/** The folder of a site that is there as it is, `.` for the project's own; null: there is none. */
export function pageFolder(project: ProjectView): string | null {
  return (
    ['.', ...conventionalOutputs].find((folder) => project.text(path.posix.join(folder, 'index.html')) !== null) ?? null
  );
}

function scriptsOf(project: ProjectView): string[] {
  const page = project.text('index.html')?.slice(0, PAGE_CHARS_MAX) ?? '';
  return [...page.matchAll(/<script\b[^>]{0,500}?\bsrc\s{0,9}=\s{0,9}["']?([^"'\s>]{1,300})/gi)].map(
    ([, source]) => source!.split(/[?#]/)[0]!,
  );
}
