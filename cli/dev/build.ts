// The build command in `platform dev`: runs it for a session, and decides which changes it runs again for. What the
// command writes itself is told from what people write by its content, so that a build never follows from its own files
// for ever.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { runBuild } from '#builder/command/build-step.ts';
import { isOutputName } from '#builder/frameworks/output-folder.ts';
import type { Project } from '../project/project.ts';

/** The build command of one session. Paths are relative to the project's folder. */
interface DevBuild {
  /** Runs the command of a project; the folders it made, null where there is none. */
  run(project: Project, root: string): Promise<readonly string[] | null>;
  /**
   * Takes note of changes. True when they are this module's to act on: `again` follows where the command has to run.
   */
  takes(project: Project, paths: readonly string[]): boolean;
  /** Ends a command that runs. */
  close(): void;
}

/** What it tells. */
interface DevBuildEvents {
  /** The command has to run again, because of this path. */
  again(cause: string): void;
  /** Output of the command, as it comes. */
  output(text: string): void;
  warn(message: string): void;
}

/** A save is served by the watch of the sources first, where that is enough; many saves make one build. */
const SETTLE_MS = 60;
/** The system may tell of the last files a little after the command has ended. */
const LATE_MS = 100;
/**
 * Builds in a row that follow from files which changed while the one before ran: somebody saved them, or the command
 * wrote them. All but the first wait for a moment: who saves then is known not to be the command.
 */
const OWN_RUNS_MAX = 3;
const QUIET_MS = 500;

export function createDevBuild({ again, output, warn }: DevBuildEvents): DevBuild {
  let running = false;
  let pending: NodeJS.Timeout | undefined;
  let late: NodeJS.Timeout | undefined;
  let ownRuns = 0;
  /** Changed while the command ran: by it, or by somebody who saved meanwhile. */
  const during = new Set<string>();
  /** Content of those files after the last run that changed them. */
  const contents = new Map<string, string>();
  /** Folders that the command makes. */
  const made = new Set<string>();
  /** Files that it writes anew each time. One that changes while it does not run is somebody's after all. */
  const generated = new Set<string>();

  const ending = new AbortController();

  const isMade = (file: string): boolean =>
    [...made].some((folder) => file === folder || file.startsWith(folder + path.sep));

  const schedule = (cause: string, ms = SETTLE_MS): void => {
    clearTimeout(pending);
    pending = setTimeout(() => again(cause), ms);
  };

  /** Looks at what changed while the command ran. */
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
      warn(`The build command changes ${changed.join(', ')} each time it runs: changes of it do not start a build`);
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

  /** Whether a file is again what the command wrote; what is written over it since counts. */
  function isUnchanged(folder: string, file: string): boolean {
    if (!contents.has(file)) return false;
    const content = contentOf(path.join(folder, file));
    const same = contents.get(file) === content;
    contents.set(file, content);
    return same;
  }
}

/**
 * Folders with a dot are those of tools: caches, and what frameworks keep between builds. Files with one may configure
 * the build.
 */
function isInput(file: string): boolean {
  const folders = file.split(path.sep).slice(0, -1);
  return (
    !folders.some((name) => name.startsWith('.') && name !== '..' && name !== '.well-known') &&
    !file.endsWith('.tsbuildinfo')
  );
}

/** Hash of a file; folders and what is gone have names of their own. */
function contentOf(file: string): string {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('base64');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unreadable';
  }
}
