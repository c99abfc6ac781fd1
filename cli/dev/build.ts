// Runs the build command in `platform dev`, and decides which changes rerun it. The output of the build command is
// recognized by its content, so that a build does not trigger itself again.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { runBuild } from '#builder/command/build-step.ts';
import { isOutputName } from '#builder/frameworks/output-folder.ts';
import type { Project } from '../project/project.ts';

/** The build command of one session. Paths are relative to the project's folder. */
interface DevBuild {
  /** Runs the command of a project. Returns the folders that the command created, or null without a command. */
  run(project: Project, root: string): Promise<readonly string[] | null>;
  /**
   * Handles changes. Returns true if the files belong to this module, which calls `again` if the command must run
   * again.
   */
  takes(project: Project, paths: readonly string[]): boolean;
  /** Stops a running command. */
  close(): void;
}

/** Events of the build command. */
interface DevBuildEvents {
  /** The command must run again because this path changed. */
  again(cause: string): void;
  /** Live output of the command. */
  output(text: string): void;
  warn(message: string): void;
}

/** Debounce: lets the source watch serve a save first if it can, and merges several saves into one build. */
const SETTLE_MS = 60;
/** File events may arrive shortly after the command has exited. */
const LATE_MS = 100;
/**
 * Consecutive builds triggered by files that changed during the previous build, saved by the user or written by the
 * command. All but the first wait for a moment, in which a change must come from the user.
 */
const OWN_RUNS_MAX = 3;
const QUIET_MS = 500;

export function createDevBuild({ again, output, warn }: DevBuildEvents): DevBuild {
  let running = false;
  let pending: NodeJS.Timeout | undefined;
  let late: NodeJS.Timeout | undefined;
  let ownRuns = 0;
  /** Files that the command or the user changed while the command ran. */
  const during = new Set<string>();
  /** Content of the files after the last run that changed them. */
  const contents = new Map<string, string>();
  /** Folders created by the command. */
  const made = new Set<string>();
  /** Files rewritten on each run. A folder that changes while the command is not running contains sources. */
  const generated = new Set<string>();

  const ending = new AbortController();

  const isMade = (file: string): boolean =>
    [...made].some((folder) => file === folder || file.startsWith(folder + path.sep));

  const schedule = (cause: string, ms = SETTLE_MS): void => {
    clearTimeout(pending);
    pending = setTimeout(() => again(cause), ms);
  };

  /** Evaluates the files changed during the run. */
  const settle = (folder: string): void => {
    running = false;
    const changed: string[] = [];
    for (const file of during) {
      if (isMade(file) || isOutputName(file)) continue;
      const content = contentOf(path.join(folder, file));
      if (contents.get(file) !== content && !generated.has(file)) changed.push(file);
      contents.set(file, content);
    }
    during.clear();
    const [first] = changed.sort();
    if (first === undefined) ownRuns = 0;
    else if (++ownRuns <= OWN_RUNS_MAX) schedule(first, ownRuns === 1 ? SETTLE_MS : QUIET_MS);
    else {
      ownRuns = 0;
      for (const file of changed) generated.add(file);
      warn(`The build command rewrites ${changed.join(', ')} on every run: changes to it do not trigger a build`);
    }
  };

  return {
    async run(project, root) {
      if (project.config.build === null) return null;
      clearTimeout(pending);
      clearTimeout(late);
      running = true;
      try {
        const folders = await runBuild(root, project.config, {
          onOutput: output,
          workspace: project.workspace,
          signal: ending.signal,
        });
        for (const folder of folders ?? []) made.add(path.relative(project.folder, path.join(root, folder)));
        return folders;
      } finally {
        late = setTimeout(() => settle(project.folder), LATE_MS);
      }
    },
    takes(project, paths) {
      if (project.config.build === null) return false;
      const relevant = paths.filter((file) => isInput(path.relative(project.root, path.join(project.folder, file))));
      if (running) {
        for (const file of relevant) during.add(file);
        return true;
      }
      const inputs = relevant.filter((file) => !isMade(file) && !isUnchanged(project.folder, file));
      if (inputs.length === 0) return relevant.length === 0;
      ownRuns = 0;
      for (const file of inputs) generated.delete(file);
      schedule(inputs[0]!);
      return true;
    },
    close() {
      ending.abort();
      clearTimeout(pending);
      clearTimeout(late);
    },
  };

  /** Whether a file still has the content written by the command. */
  function isUnchanged(folder: string, file: string): boolean {
    if (!contents.has(file)) return false;
    const content = contentOf(path.join(folder, file));
    const same = contents.get(file) === content;
    contents.set(file, content);
    return same;
  }
}

/**
 * Hidden folders belong to tools and frameworks and are ignored. Hidden files may configure the build.
 */
function isInput(file: string): boolean {
  const folders = file.split(path.sep).slice(0, -1);
  return (
    !folders.some((name) => name.startsWith('.') && name !== '..' && name !== '.well-known') &&
    !file.endsWith('.tsbuildinfo')
  );
}

/** Hash of a file; fixed values for folders and missing files. */
function contentOf(file: string): string {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('base64');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unreadable';
  }
}
