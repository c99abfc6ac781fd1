// Analyzes the page at a project's root: its scripts are client code, and some have to be built first. Pure. Called by
// detect.ts.
import path from 'node:path';
import type { ProjectView } from './project-view.ts';
import { conventionalOutputs } from './table.ts';

/** Maximum characters of the page that are searched for scripts. */
const PAGE_CHARS_MAX = 200_000;

/** Whether the page loads files that browsers do not support. */
export function pageNeedsBuild(project: ProjectView): boolean {
  return scriptsOf(project).some((source) => /\.(?:[cm]?tsx?|jsx|vue|svelte)$/.test(source));
}

/** Whether the page loads a file, given relative to the project. */
export function isLoadedByPage(project: ProjectView, file: string): boolean {
  return scriptsOf(project).some((source) => source.replace(/^(?:\.?\/)+/, '') === file);
}

/** The folder of a static site that needs no build, `.` for the project itself, or null. */
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
