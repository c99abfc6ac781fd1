// Publishes the example projects of the checkout. A separate process of `start`, to keep the bundler out of its memory.
// Arguments: the folder of the examples, the data folder.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { limitsFrom } from '#core/limits.ts';
import { publish } from '#artifacts/publish.ts';
import { exitCodeOf, failuresOf, printFailure } from '../terminal/failure.ts';
import { buildProject, loadProject } from '../project/project.ts';
import { processShell, type Shell } from '../terminal/shell.ts';

/** Examples of a start, by name. */
export interface Examples {
  readonly all: readonly string[];
  /** Examples that this start has published; the others are unchanged. */
  readonly published: readonly string[];
}

/** Publishes every folder with a platform.yaml; unchanged projects keep their deployment. */
export async function publishExamples(examples: string, folder: string, shell: Shell): Promise<Examples> {
  const [all, published]: [string[], string[]] = [[], []];
  const { diskFreeBytesMin } = limitsFrom(shell.env);
  for (const name of readdirSync(examples).sort()) {
    const projectFolder = path.join(examples, name);
    if (!existsSync(path.join(projectFolder, 'platform.yaml'))) continue;
    const built = await buildProject(loadProject(shell, projectFolder, null), path.join(folder, 'artifacts'), {
      keepsFreeBytes: diskFreeBytesMin,
    });
    const { changed } = publish({
      dataFolder: folder,
      project: name,
      branch: 'main',
      production: true,
      artifactFolder: built.folder,
      artifactId: built.id,
      onlyWhenChanged: true,
    });
    all.push(name);
    if (changed) published.push(name);
  }
  return { all, published };
}

if (process.argv[1] === import.meta.filename) {
  const [examples, folder] = process.argv.slice(2) as [string, string];
  const shell = processShell();
  try {
    process.send?.(await publishExamples(examples, folder, shell));
  } catch (error) {
    for (const failure of failuresOf(error)) printFailure(shell, failure);
    process.exitCode = exitCodeOf(error);
  }
}
